"""Processes that hold a store, or write to it as fast as they can."""

import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager

from tests.faults.forks import Fork, Forks

HOLD = """
import sys
from pathlib import Path
from nestmap.store import Store
with Store.open(Path(sys.argv[1])) as store, store._database.use():
    print("open", flush=True)
    sys.stdin.read()
"""

WRITE_CHUNKS = """
import resource, sys
from pathlib import Path
from nestmap.model import StoreError
from nestmap.store import ROW_GROUP, Store
from tests.store.builders import accelerator, batch, info, layer, search_info, spatial_problem
limit = int(sys.argv[2])
resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
problem = spatial_problem(layer(), accelerator())
chunk = batch(problem, ROW_GROUP)
try:
    path = Path(sys.argv[1])
    with Store.open(path) as store:
        with store.start_run(info()) as run, run.record_search(search_info(problem)) as search:
            print("open", flush=True)
            while True:
                search.record(chunk)
                print("chunk", flush=True)
except StoreError as error:
    print(error)
"""

NO_LIMIT = "-1"


@contextmanager
def running(script: str, *arguments: str) -> Generator[subprocess.Popen[str]]:
    """A Python process, killed at the end."""
    command = [sys.executable, "-c", script, *arguments]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def read_line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


@contextmanager
def writing(forks: Forks, *arguments: str) -> Generator[Fork]:
    """A process that writes chunks to a store, killed at the end."""
    fork = forks.start_program(WRITE_CHUNKS, *arguments)
    try:
        yield fork
    finally:
        fork.kill()
        fork.end()


def read_chunks(fork: Fork, chunks: int) -> None:
    """Waits until the process has a run and has recorded so many chunks."""
    said = [fork.out.readline().strip() for _ in range(chunks + 1)]
    assert said == ["open", *["chunk"] * chunks]
