"""Explorations of several cores that are killed: at most a generation is lost, and they go on."""

import os
import random
import signal
from pathlib import Path
from time import sleep
from typing import Final

import pytest

from nestmap.store import RunStatus, Store
from nestmap.store.maintenance.check import check_store
from tests.faults.forks import Forks
from tests.faults.test_bad_stream import CORE, MACHINE
from tests.pipeline.cli.inputs import run
from tests.pipeline.cli.test_split import TWO
from tests.sweeps import STRESS, every

GENERATIONS: Final = 8
OPTIONS: Final = (
    *("stream", "net.yaml", "--cores", "pair.yaml", "--hint-loops", "K=4", "--lpf-limit", "3"),
    *("--individuals", "4", "--generations", str(GENERATIONS), "--workers", "1"),
)
KILLS: Final = 20 if STRESS else 1

KILL: Final = """
import os, signal
from nestmap.store.record import multicore_run as stream_run
def killed_at(home, name, number=0, after=True):
    real, calls = getattr(home, name), []
    def function(*arguments, **named):
        calls.append(0)
        last = len(calls) > number
        if last and not after:
            os.kill(os.getpid(), signal.SIGKILL)
        real(*arguments, **named)
        if last:
            os.kill(os.getpid(), signal.SIGKILL)
    setattr(home, name, function)
"""
# Where a run is killed, and how many generations it has committed then.
MOMENTS: Final = {
    "before it has written a cost": ('stream_run, "write_costs", after=False', 0),
    "in the middle of writing costs": ('stream_run, "write_costs"', 0),
    "when it has written costs": ('stream_run.StreamRun, "record_costs"', 0),
    "when it has written what is scheduled": ('stream_run.StreamRun, "record_problem"', 0),
    "in the middle of the first generation": ('stream_run, "write_generation"', 0),
    "when it has written a generation": ('stream_run.StreamRun, "record_generation", 2', 3),
    "in the middle of writing a generation": ('stream_run, "write_generation", 4', 4),
    "in the middle of writing the schedule": ('stream_run, "write_schedule"', GENERATIONS + 1),
}
# All that a run has found.
FOUND: Final = (
    "SELECT * EXCLUDE (run) FROM generations WHERE run = ? ORDER BY ALL",
    "SELECT * EXCLUDE (run) FROM individuals WHERE run = ? ORDER BY ALL",
    "SELECT * EXCLUDE (run) FROM streams WHERE run = ?",
    "SELECT * EXCLUDE (run) FROM stream_costs WHERE run = ? ORDER BY ALL",
    "SELECT * EXCLUDE (run) FROM schedules WHERE run = ?",
    "SELECT * EXCLUDE (run) FROM schedule_nodes WHERE run = ? ORDER BY ALL",
    "SELECT * EXCLUDE (run) FROM schedule_transfers WHERE run = ? ORDER BY ALL",
    "SELECT * EXCLUDE (run) FROM schedule_stays WHERE run = ? ORDER BY ALL",
    "SELECT cost FROM run_costs WHERE run = ? ORDER BY ALL",
)
STORE: Final = Path("nestmap.duckdb")


@pytest.fixture(name="whole", scope="module")
def _whole(forks: Forks, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, list[list[str]]]:
    """What a run that nobody interrupts prints and records."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(write_files(tmp_path_factory.mktemp("whole")))
        forks.prepare(*OPTIONS, "--no-store")
        ended = run(*OPTIONS)
        assert ended.code == 0, ended.err
        return ended.out, found()


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A network and a machine in the current folder."""
    monkeypatch.chdir(write_files(tmp_path))


def write_files(folder: Path) -> Path:
    for name, text in (("net", TWO), ("small", CORE), ("pair", MACHINE)):
        (folder / f"{name}.yaml").write_text(text)
    return folder


def found() -> list[list[str]]:
    """All that the last run has recorded."""
    with Store.open_read_only(STORE) as store:
        last = store.find_run("last")
        return [[repr(tuple(x.values())) for x in store.query(sql, [last])] for sql in FOUND]


def check_going_on(whole: tuple[str, list[list[str]]], committed: int) -> None:
    """Checks that the run that was killed goes on to the result of one that was not."""
    assert check_store(STORE).problems == ()
    with Store.open(STORE) as store:
        (record,) = store.runs()
        assert record.status is RunStatus.INTERRUPTED
        assert len(store.query("FROM generations")) >= committed
    ended = run("resume", "last")
    assert (ended.code, ended.out) == (0, whole[0]), ended.err
    assert found() == whole[1]
    assert check_store(STORE).problems == ()


@pytest.mark.parametrize("moment", every(3, [*MOMENTS]))
def test_killed_at_a_moment(forks: Forks, moment: str, whole: tuple[str, list[list[str]]]) -> None:
    arguments, committed = MOMENTS[moment]
    ended = forks.run(*OPTIONS, setup=f"{KILL}killed_at({arguments})")
    assert (ended.code, ended.out) == (-signal.SIGKILL, ""), ended.err
    check_going_on(whole, committed)


@pytest.mark.parametrize("number", range(KILLS))
def test_killed_from_outside(forks: Forks, number: int, whole: tuple[str, list[list[str]]]) -> None:
    """At any time after its first generations; it is held up a little at each."""
    slow = """
import time
from nestmap.store.record.multicore_run import StreamRun
record = StreamRun.record_generation
def slower(*arguments):
    record(*arguments)
    print("generation", flush=True)
    time.sleep(0.3)
StreamRun.record_generation = slower
"""
    generations = random.Random(number).randrange(1, GENERATIONS)
    fork = forks.start(*OPTIONS, setup=slow)
    for _ in range(generations):
        assert fork.out.readline() == "generation\n"
    sleep(random.Random(number).uniform(0, 0.3))
    os.kill(fork.pid, signal.SIGKILL)
    fork.end()
    check_going_on(whole, generations)
