"""Worker processes find what threads find, and may be killed."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from multiprocessing import active_children
from pathlib import Path
from random import Random
from threading import Event, Thread

import pytest

import nestmap
from nestmap.model import InputError, Objective
from nestmap.pipeline.explore.plan import SearchPlan
from nestmap.pipeline.render.text.query_result_file import Layout, answer_text
from nestmap.pipeline.sweep.explore_designs import DesignPoints
from nestmap.pipeline.sweep.methods.one_core import OneCore
from nestmap.pipeline.sweep.options import StrategyName
from nestmap.pipeline.sweep.space.checked_space import check_space
from nestmap.pipeline.sweep.workers.local_workers import MOST_ENDED, process_explorer
from tests.pipeline.sweep.spaces import write_space
from tests.sweeps import STRESS

KILLS = 20 if STRESS else 2
PLAN = SearchPlan()
MAPPED_FOR = (Objective.ENERGY, Objective.LATENCY)
NESTMAP = (sys.executable, "-c", "from nestmap.pipeline.cli import main; main()")


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_space(tmp_path_factory.mktemp("space"))


def kill_a_worker() -> None:
    os.kill(active_children()[0].pid or 0, signal.SIGKILL)


@pytest.mark.parametrize(("strategy", "designs"), [("grid", None), ("nsga2", 10)])
def test_processes_find_what_threads_find(
    file: Path, strategy: StrategyName, designs: int | None
) -> None:

    def exported(on: str | None) -> tuple[str, str]:
        found = nestmap.sweep(file, strategy=strategy, designs=designs, on=on)
        table = found.relation()
        return "".join(answer_text(table, Layout.CSV)), "".join(answer_text(table, Layout.JSON))

    threads = exported(None)
    counts = (1, 4) if strategy == "grid" else (2,)
    assert [exported(f"local:{n}") for n in counts] == [threads] * len(counts)
    assert not active_children()


@pytest.mark.stress
def test_designs_of_workers_that_are_killed_are_explored_again(file: Path) -> None:
    checked, chance = check_space(file), Random(0)
    designs = [checked.settings.design(n) for n in range(18)]
    expected = list(map(OneCore(checked, PLAN, MAPPED_FOR).explorer(Event()), designs))
    with process_explorer(OneCore(checked, PLAN, MAPPED_FOR), 2) as explore:
        for _ in range(KILLS):
            last = chance.randrange(len(designs) - 1)
            assert killed_after(last, explore(designs)) == expected
    assert not active_children()


def killed_after(last: int, results: Iterator[DesignPoints]) -> list[DesignPoints]:
    """The results; after the first ones a worker is killed."""
    found: list[DesignPoints] = []
    for place, result in enumerate(results):
        found.append(result)
        if place == last and active_children():
            kill_a_worker()
    return found


@pytest.mark.stress
def test_workers_that_end_again_and_again_are_an_error(file: Path) -> None:
    checked = check_space(file)
    designs = [checked.settings.design(n) for n in range(18)]
    with process_explorer(OneCore(checked, PLAN, MAPPED_FOR), 1) as explore:
        results = explore(designs)
        next(results)  # which compiles, if need be
        over = False

        def kill_all() -> None:
            while not over:
                for child in active_children():
                    child.kill()
                time.sleep(0.01)

        killer = Thread(target=kill_all)
        killer.start()
        try:
            with pytest.raises(InputError, match=f"{MOST_ENDED} in a row that ended while design"):
                list(results)
        finally:
            over = True
            killer.join()


def test_workers_end_with_a_sweep_that_is_given_up(file: Path) -> None:
    checked = check_space(file)
    with process_explorer(OneCore(checked, PLAN, MAPPED_FOR), 2) as explore:
        next(explore([checked.settings.design(n) for n in range(18)]))
        assert active_children()
    assert not active_children()


@pytest.mark.parametrize("kind", [signal.SIGINT, signal.SIGKILL])
def test_workers_end_with_the_command(file: Path, kind: signal.Signals, tmp_path: Path) -> None:
    command = subprocess.Popen(
        [*NESTMAP, "sweep", str(file), "--on", "local:2"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    workers = wait_for_workers(command.pid)
    command.send_signal(kind)
    _, error = command.communicate(timeout=60)
    assert command.returncode == (130 if kind is signal.SIGINT else -kind)
    if kind is signal.SIGINT:  # who is killed may leave a worker that is still being started
        assert "Traceback" not in error
    end = time.monotonic() + 30
    while any(is_alive(x) for x in workers):
        assert time.monotonic() < end, "a worker is left"
        time.sleep(0.05)


def wait_for_workers(parent: int) -> list[int]:
    """The processes that a command has started for designs."""
    end = time.monotonic() + 180  # a machine's first design is explored before
    while time.monotonic() < end:
        found = [x for x in children_of(parent) if "spawn_main" in command_of(x)]
        if len(found) == 2:
            return found
        time.sleep(0.02)
    raise AssertionError("there are no workers")


def children_of(parent: int) -> Sequence[int]:
    try:
        text = Path(f"/proc/{parent}/task/{parent}/children").read_text()
    except OSError:
        return []
    return [int(x) for x in text.split()]


def command_of(process: int) -> str:
    try:
        return Path(f"/proc/{process}/cmdline").read_text()
    except OSError:
        return ""


def is_alive(process: int) -> bool:
    return "spawn_main" in command_of(process)


@pytest.mark.parametrize(
    "on",
    ["local", "local:", "local:0", "local:1025", "local:two", "locale:2", "tcp:host", "tcp://"],
)
def test_other_places_are_errors(file: Path, on: str) -> None:
    with pytest.raises(InputError, match=f"on: found {on!r}; expected local:N, with 1 to 1024"):
        nestmap.sweep(file, on=on)


def test_places_exclude_threads_and_runs_of_all_designs(file: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="on cannot be combined with workers"):
        nestmap.sweep(file, on="local:2", workers=2)
    with pytest.raises(InputError, match="on cannot be combined with runs all"):
        nestmap.sweep(file, on="local:2", store=tmp_path / "x.duckdb", runs="all")
