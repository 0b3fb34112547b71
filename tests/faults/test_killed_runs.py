"""Runs that are killed at any moment: nothing committed is lost, and they can be gone on with.

``make stress`` (``NESTMAP_STRESS=1``) kills 200 of them.
"""

import os
import random
import shutil
from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import Final, final
from uuid import UUID

import pytest

from nestmap.model import EvaluationBatch, NetworkProblem, StoreError
from nestmap.pipeline.explore.api import Exploration, FrontExploration
from nestmap.pipeline.explore.resume import resume
from nestmap.store import RunStatus, Store
from tests.faults.explorations import KINDS, Order, committing_often, explore
from tests.faults.kills import Ended, Explorer, Found, check, complete, count, found
from tests.sweeps import STRESS, every

KILLS: Final = 200 if STRESS else 3
OTHERS: Final = 20 if STRESS else 1
OTHER_KINDS: Final = sorted(KINDS.keys() - {"all"} - (set() if STRESS else {"none", "pareto"}))
PAUSE: Final = 0.2
"""How much longer than alone a run may take (share): what is slower is killed near the end."""


@final
class Counted:
    """How many mappings were evaluated, and of how many it was known what they cost."""

    def __init__(self) -> None:
        self.evaluated = 0
        self.recalled = 0

    def start(self, network: NetworkProblem) -> None:
        """Nothing was."""

    def observe(self, batch: EvaluationBatch) -> None:
        """Some were."""
        self.evaluated += batch.statistics.evaluations

    def recall(self, batch: EvaluationBatch) -> None:
        """Some need not be."""
        self.recalled += batch.statistics.evaluations


@final
@dataclass(frozen=True)
class Whole:
    """A run that nobody has interrupted; ``before`` is the store as it was then, if any."""

    before: Path | None
    result: Exploration | FrontExploration
    found: Found


@final
class Killer:
    """Kills runs of all kinds, and knows what comes out when nobody does."""

    def __init__(self, folder: Path, exploring: Explorer) -> None:
        self.folder = folder
        self.exploring = exploring
        self._whole: dict[str, Whole] = {}
        self.seconds = min(self._time_alone(i) for i in range(3))

    def _time_alone(self, number: int) -> float:
        """For how long a run goes on if it is not killed (s)."""
        start = monotonic()
        assert self.exploring.run(Order("all", str(self.folder / f"alone {number}"))).done
        return monotonic() - start

    def whole(self, kind: str) -> Whole:
        """The run of a kind when it is left alone."""
        if kind not in self._whole:
            self._whole[kind] = self._left_alone(kind)
        return self._whole[kind]

    def _left_alone(self, kind: str) -> Whole:
        before = None
        if KINDS[kind].recording.fresh:  # there is something that it must not use
            self.whole("all")
            before = self.folder / "all.duckdb"
        path = self.folder / f"{kind}.duckdb"
        self.place(before, path)
        result = explore(Order(kind, str(path)))
        with Store.open_read_only(path) as store:
            return Whole(before, result, found(store, result.run))

    def place(self, before: Path | None, path: Path) -> None:
        """Puts the store where it shall be, as it is before the run."""
        if before is not None:
            shutil.copyfile(before, path)

    def kill(self, kind: str, path: Path, share: float, run: UUID | None = None) -> Ended:
        """Explores, or goes on with a run, and kills it when this share of the time has passed."""
        seconds = share * self.seconds
        return self.exploring.run(
            Order(kind, str(path), None if run is None else str(run), seconds)
        )


@pytest.fixture(scope="module")
def killer(tmp_path_factory: pytest.TempPathFactory, exploring: Explorer) -> Generator[Killer]:
    """Shared: it measures how long a run takes."""
    with committing_often():
        yield Killer(tmp_path_factory.mktemp("kills"), exploring)


def moments(kills: int) -> list[float]:
    """Evenly spread over the time of a run, and each a bit at random."""
    chance = random.Random(7)
    return [(i + chance.random()) / kills * (1 + PAUSE) for i in range(kills)]


@pytest.mark.parametrize("share", moments(KILLS))
def test_a_killed_run_is_gone_on_with(killer: Killer, tmp_path: Path, share: float) -> None:
    kill_and_resume(killer, "all", tmp_path / "store.duckdb", share)


@pytest.mark.parametrize("kind", every(3, [*OTHER_KINDS]))
@pytest.mark.parametrize("share", moments(OTHERS))
def test_a_killed_run_of_any_kind_is_gone_on_with(
    killer: Killer, tmp_path: Path, kind: str, share: float
) -> None:
    kill_and_resume(killer, kind, tmp_path / "store.duckdb", share)


@pytest.mark.parametrize("share", moments(OTHERS))
@pytest.mark.stress
def test_a_run_that_is_killed_twice_is_gone_on_with(
    killer: Killer, tmp_path: Path, share: float
) -> None:
    path = tmp_path / "store.duckdb"
    first = killer.kill("all", path, share)
    if not first.started or first.done:
        return
    run = interrupted(killer, "all", path, first)
    if run is None:  # it was committed as done and had no time to say so; its results are compared
        return
    second = killer.kill("all", path, share / 2, run)
    if second.done:
        return
    assert interrupted(killer, "all", path, first) == run
    if second.started:
        with Store.open_read_only(path) as store:
            assert count(store, run) >= second.committed
            assert store.run(run).resumed == 1
    go_on(killer, "all", path, run)


def kill_and_resume(killer: Killer, kind: str, path: Path, share: float) -> None:
    killer.place(killer.whole(kind).before, path)
    ended = killer.kill(kind, path, share)
    note(kind, ended)
    assert ended.code in (0, -9)
    run = interrupted(killer, kind, path, ended)
    if run is not None:
        go_on(killer, kind, path, run)


def interrupted(killer: Killer, kind: str, path: Path, ended: Ended) -> UUID | None:
    """The run that was killed, in a store that has all that was committed, and nothing half."""
    if not ended.started and not path.exists():
        return None
    before = 0 if killer.whole(kind).before is None else 1
    try:
        check(path)
    except StoreError:
        assert not ended.started
    with Store.open(path) as store:
        runs = store.runs()[before:]
        if not ended.started and not runs:
            return None
        (run,) = runs
        assert count(store, run.id) >= ended.committed
        if ended.done or run.status is RunStatus.DONE:
            assert found(store, run.id) == killer.whole(kind).found
            return None
        assert run.status is RunStatus.INTERRUPTED
        assert run.reason == "process exited without finishing the run"
        return run.id


def go_on(killer: Killer, kind: str, path: Path, run: UUID) -> None:
    """The run is ended, does nothing twice, and has found what it would have alone."""
    whole = killer.whole(kind)
    with Store.open_read_only(path) as store:
        known = complete(store, run)
    counted = Counted()
    result = resume(run, path, workers=1, progress=counted)
    assert outcome(result) == outcome(whole.result)
    check(path)
    with Store.open_read_only(path) as store:
        assert found(store, run) == whole.found
        assert store.run(run).status is RunStatus.DONE
        assert counted.recalled == known
        assert counted.evaluated == complete(store, run) - known
    assert [x.name for x in path.parent.iterdir()] == [path.name]


def outcome(result: Exploration | FrontExploration) -> object:
    """What was found, whichever run it was."""
    return result.total if isinstance(result, Exploration) else result.front


def note(kind: str, ended: Ended) -> None:
    """Writes down where a kill has hit, for whoever wants to count."""
    log = os.environ.get("NESTMAP_KILLS")
    if log is not None:
        when = "after the end" if ended.done else "in the middle" if ended.started else "before"
        with Path(log).open("a") as file:
            file.write(f"{kind} {when} {ended.committed}\n")
