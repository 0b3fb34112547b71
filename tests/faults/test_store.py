"""Stores that are locked, foreign, read-only or full, and runs that are killed."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from nestmap.model import StoreError
from nestmap.store import CHUNK, RunStatus, Store
from tests.store.builders import info, network, result

HOLD = """
import sys
from pathlib import Path
from nestmap.store import Store
with Store.open(Path(sys.argv[1])):
    print("open", flush=True)
    sys.stdin.read()
"""

BECOME_NOBODY_AND_OPEN = """
import os, sys
from pathlib import Path
from nestmap.model import StoreError
from nestmap.store import Store
if os.geteuid() == 0:  # root may write anything
    getattr(os, sys.argv[2])(65534)
try:
    Store.open(Path(sys.argv[1]))
except StoreError as error:
    print(error)
"""

WRITE_CHUNKS = """
import resource, sys
from pathlib import Path
from nestmap.model import StoreError
from nestmap.store import CHUNK, Store
from tests.store.builders import accelerator, batch, info, layer, spatial_problem
limit = int(sys.argv[2])
resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
chunk = batch(spatial_problem(layer(), accelerator()), CHUNK)
try:
    with Store.open(Path(sys.argv[1])) as store, store.start_run(info()) as run:
        print("open", flush=True)
        while True:
            run.record(chunk)
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


def read_chunks(process: subprocess.Popen[str], chunks: int) -> None:
    """Waits until the process has a run and has recorded so many chunks."""
    assert [read_line(process) for _ in range(chunks + 1)] == ["open", *["chunk"] * chunks]


def committed_rows(store: Store) -> int:
    (row,) = store.query("SELECT count(*) AS n FROM evaluations")
    return int(str(row["n"]))


def test_a_store_that_another_process_writes_is_locked(tmp_path: Path) -> None:
    path = tmp_path / "store.duckdb"
    with running(HOLD, str(path)) as process:
        assert read_line(process) == "open"
        for opening in (Store.open, Store.open_read_only):
            with pytest.raises(StoreError, match=r"store\.duckdb: another process has it open"):
                opening(path)
    Store.open(path).close()


def test_a_store_that_this_process_writes_cannot_be_opened_for_reading(tmp_path: Path) -> None:
    path = tmp_path / "store.duckdb"
    with Store.open(path), pytest.raises(StoreError, match="this process has it open already"):
        Store.open_read_only(path)


@pytest.mark.parametrize("content", [b"", b"layers:\n", b"\0" * 100_000])
def test_other_files_are_refused_and_left_alone(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "network.yaml"
    path.write_bytes(content)
    for opening in (Store.open, Store.open_read_only):
        with pytest.raises(StoreError, match=r"network\.yaml: found a file that is not a DuckDB"):
            opening(path)
    assert path.read_bytes() == content
    assert list(tmp_path.iterdir()) == [path]


def test_a_damaged_store_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "store.duckdb"
    with Store.open(path) as store, store.start_run(info()) as run:
        run.finish(result(network()))
    path.write_bytes(path.read_bytes()[:5000])
    for opening in (Store.open, Store.open_read_only):
        with pytest.raises(StoreError, match=r"store\.duckdb: .*expected a readable DuckDB file"):
            opening(path)


def test_a_folder_is_not_a_store(tmp_path: Path) -> None:
    for opening in (Store.open, Store.open_read_only):
        with pytest.raises(StoreError, match="found a folder; expected a DuckDB file"):
            opening(tmp_path)


def test_no_folder_is_made(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"folder .*missing does not exist; expected an existing"):
        Store.open(tmp_path / "missing" / "store.duckdb")
    assert list(tmp_path.iterdir()) == []


def test_a_missing_store_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="no such file; expected a store that nestmap explore"):
        Store.open_read_only(tmp_path / "store.duckdb")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("become", ["setuid", "seteuid"])
@pytest.mark.parametrize("locked", ["file", "folder"])
def test_a_store_that_must_not_be_written_is_told(become: str, locked: str) -> None:
    with tempfile.TemporaryDirectory() as folder:  # tmp_path is closed to other users
        path = Path(folder) / "store.duckdb"
        if locked == "file":
            Store.open(path).close()
            path.chmod(0o444)
        Path(folder).chmod(0o555 if locked == "folder" else 0o777)
        done = subprocess.run(
            [sys.executable, "-c", BECOME_NOBODY_AND_OPEN, str(path), become],
            capture_output=True,
            text=True,
            check=True,
        )
        Path(folder).chmod(0o755)
    assert "expected a file and a folder that may be written" in done.stdout


def test_a_full_disk_is_told_and_costs_only_the_last_chunk(tmp_path: Path) -> None:
    path = tmp_path / "store.duckdb"
    with running(WRITE_CHUNKS, str(path), str(12 * 2**20)) as process:
        output = process.communicate()[0].splitlines()
    chunks = output.count("chunk")
    assert chunks > 0
    assert "the disk is full (or a limit on the size of files is reached)" in output[-1]
    assert "store.duckdb" in output[-1]
    with Store.open_read_only(path) as store:
        assert committed_rows(store) == chunks * CHUNK
    with Store.open(path) as store:
        assert committed_rows(store) == chunks * CHUNK
        assert store.runs()[0].status in (RunStatus.INTERRUPTED, RunStatus.FAILED)


@pytest.mark.parametrize("chunks", [0, 1, 4])
def test_a_killed_run_keeps_its_committed_chunks(tmp_path: Path, chunks: int) -> None:
    path = tmp_path / "store.duckdb"
    with running(WRITE_CHUNKS, str(path), NO_LIMIT) as process:
        read_chunks(process, chunks)
        process.kill()
        process.wait()  # what it wrote after that line may be more chunks
    with Store.open(path) as store:
        rows = committed_rows(store)
        assert rows % CHUNK == 0
        assert rows >= chunks * CHUNK
        (run,) = store.runs()
        assert run.status is RunStatus.INTERRUPTED
        recorded = [len(batch) for batch in store.evaluations(run.id, "fc")]
        assert recorded == ([rows] if rows else [])


def test_a_store_whose_maker_is_killed_opens_or_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "store.duckdb"
    with running(WRITE_CHUNKS, str(path), NO_LIMIT) as process:
        while not path.exists():
            assert process.poll() is None
        process.kill()
        process.wait()
    try:
        with Store.open(path) as store:
            assert committed_rows(store) % CHUNK == 0
    except StoreError as error:  # not even the head of the file had been written
        assert "store.duckdb: " in str(error)  # noqa: PT017 (it need not be raised)


def test_a_killed_run_can_be_looked_at_without_writing(tmp_path: Path) -> None:
    path = tmp_path / "store.duckdb"
    with running(WRITE_CHUNKS, str(path), NO_LIMIT) as process:
        read_chunks(process, 1)
    with Store.open_read_only(path) as store:
        assert committed_rows(store) >= CHUNK
        assert store.runs()[0].status is RunStatus.RUNNING
