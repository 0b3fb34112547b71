"""Small explorations that write to a store in many commits, run by a process that can be killed.

``python -m tests.faults.explorations`` starts one for each line that it reads: it forks, so that
each exploration has a process of its own and none has to wait for the compiled cost model.
"""

import json
import os
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from time import sleep
from typing import Final, final
from uuid import UUID

import duckdb
import pytest

from nestmap.model import (
    EvaluationBatch,
    NestmapError,
    NetworkProblem,
    Recording,
    RecordMode,
    Workload,
)
from nestmap.model.base import copy_with
from nestmap.pipeline.explore.api import (
    Exploration,
    FrontExploration,
    explore_front,
    explore_network,
)
from nestmap.pipeline.explore.options import SearchOptions
from nestmap.pipeline.explore.plan import SearchPlan
from nestmap.pipeline.explore.resume import resume
from nestmap.store import Store
from nestmap.store.connection import database
from nestmap.store.record import run as recording
from nestmap.store.record.lifecycle import StartedRun
from tests.costmodel.machines import machine, matmul, memory
from tests.loma import with_loma
from tests.sweeps import STRESS

CHUNK: Final = 100 if STRESS else 300
"""Evaluations in a commit, instead of 122,880."""

NETWORK: Final = NetworkProblem(
    workload=Workload.of(
        *(copy_with(matmul(k=12, c=30, b=b), {"name": f"layer {b}"}) for b in (2, 3, 4, 6, 8)),
        name="net",
    ),
    accelerator=machine(
        memory("register", size=64, operands="I2"), memory("top"), sides={"D1": 2, "D2": 3}
    ),
)


BATCHES: Final = 1 if STRESS else 4
"""How many batches are evaluated each time somebody nods."""

ROWS_AND_STATUS: Final = """
SELECT count(*), (SELECT status FROM runs WHERE id = ?) FROM evaluation_rows
WHERE search IN (SELECT search FROM run_searches WHERE run = ? AND NOT recalled)
"""


ALL: Final = Recording()


@final
@dataclass(frozen=True)
class Kind:
    """A way of exploring and recording."""

    recording: Recording = ALL
    search: str = "loma"
    pareto: bool = False

    @property
    def plan(self) -> SearchPlan:
        """How it searches."""
        if self.search == "salsa":
            return SearchPlan.of(SearchOptions(search="salsa", workers=1, seed=3))
        return SearchPlan.of(with_loma(lpf_limit=7, workers=1))


KINDS: Final = {
    "all": Kind(),
    "best": Kind(Recording(record=RecordMode.BEST)),
    "none": Kind(Recording(record=RecordMode.NONE)),
    "limit": Kind(Recording(limit=2000)),
    "fresh": Kind(Recording(fresh=True)),
    "pareto": Kind(pareto=True),
    "salsa": Kind(search="salsa"),
}


@final
@dataclass(frozen=True)
class Order:
    """What a process is to do: explore into a store, or go on with a run of it.

    After ``seconds`` it is killed with no chance to say a word, where it has not ended before. It
    does nothing for a ``pause`` (s) after each commit. It evaluates batches whenever somebody makes
    the file ``nod``, if one is named, and lets go of the store in between.
    """

    kind: str
    path: str
    run: str | None = None
    seconds: float | None = None
    pause: float = 0
    nod: str | None = None


@final
class Nodded:
    """An exploration that goes on a few batches whenever there is a file, which it removes."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._left = 0

    def start(self, network: NetworkProblem) -> None:
        """The exploration begins."""

    def observe(self, batch: EvaluationBatch) -> None:
        """Waits; the process is killed where nobody nods for long."""
        if self._left == 0:
            while not self._file.exists():
                sleep(0.005)
            self._file.unlink()
            self._left = BATCHES
        self._left -= 1

    def recall(self, batch: EvaluationBatch) -> None:
        """What is known already needs no nod."""


def explore(order: Order) -> Exploration | FrontExploration:
    """Does it."""
    kind = KINDS[order.kind]
    with Store.open(Path(order.path)) as store:
        if order.run is not None:
            return resume(UUID(order.run), store, workers=1)
        explored = explore_front if kind.pareto else explore_network
        nodded = Nodded(Path(order.nod)) if order.nod else None
        return explored(NETWORK, kind.plan, store=store, recording=kind.recording, progress=nodded)


@contextmanager
def committing_often() -> Generator[None]:
    """Runs of this process commit small chunks, and let go of the file in between."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(recording, "ROW_GROUP", CHUNK)
        patch.setattr("nestmap.store.record.search.BLOCK", 1)
        patch.setattr(recording, "MAX_COMMIT_INTERVAL", 0.02)
        patch.setattr(database, "LONGEST_USE", 0.1)
        patch.setattr(database, "_IDLE_SECONDS", 0.03)
        yield


def say(word: str) -> None:
    """Tells whoever started this process."""
    os.write(1, f"{word}\n".encode())


@contextmanager
def telling(order: Order) -> Generator[None]:
    """Says after each commit how many evaluations of its run are there, and whether it is done."""
    writing = StartedRun.writing

    @contextmanager
    def tell(
        run: StartedRun, committed: Callable[[], None] = lambda: None
    ) -> Generator[duckdb.DuckDBPyConnection]:
        with writing(run, committed) as connection:
            yield connection
        with run.reading() as connection:
            rows: list[tuple[int, str]]
            rows = connection.execute(ROWS_AND_STATUS, [run.id, run.id]).fetchall()
        ((there, status),) = rows
        say(f"committed {there}")
        say(status)
        sleep(order.pause)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(StartedRun, "writing", tell)
        yield


def main() -> None:
    """Explores what it is told to, a process each."""
    for kind in (KINDS["all"], KINDS["salsa"]):
        explore_network(NETWORK, kind.plan)  # nothing is left to compile or to load
    assert threading.active_count() == 1  # what forks must have no other threads
    say("ready")
    with committing_often():
        for line in sys.stdin:
            say(f"ended {in_a_process(Order(**json.loads(line)))}")


def in_a_process(order: Order) -> int:
    """Explores in another process; gives its exit code, negative where a signal has ended it."""
    child = os.fork()
    if child == 0:
        work(order)
    if order.seconds is not None:
        sleep(order.seconds)
        os.kill(child, signal.SIGKILL)  # which is there, though it may have ended
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status)


def work(order: Order) -> None:
    """The life of a child."""
    signal.alarm(120)  # nobody waits for ever
    code = 1
    try:
        with telling(order):
            explore(order)
        code = 0
    except NestmapError as error:
        say(f"error {error}")
        code = 2
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(code)


def as_line(order: Order) -> str:
    """The order as :func:`main` reads it."""
    return json.dumps(asdict(order)) + "\n"


if __name__ == "__main__":
    main()
