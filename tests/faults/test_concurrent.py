"""Several processes with one store: they read while another one writes, and write side by side."""

from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from time import sleep
from typing import NamedTuple
from uuid import UUID

import pytest

from nestmap.model import EvaluationBatch, NetworkProblem, StoreError
from nestmap.pipeline.explore.api import explore_network
from nestmap.pipeline.explore.resume import resume
from nestmap.store import ROW_GROUP, RunStatus, Store
from tests.faults.explorations import KINDS, NETWORK, Order, committing_often, explore
from tests.faults.forks import Forks
from tests.faults.kills import HALF_WRITTEN, Explorer, check, recorded
from tests.faults.processes import HOLD, NO_LIMIT, read_chunks, read_line, running, writing
from tests.pipeline.cli.inputs import run

ROWS = "SELECT count(*) AS n, (SELECT count(*) FROM searches) AS searches FROM evaluation_rows"


@pytest.fixture(scope="module", autouse=True)
def often() -> Generator[None]:
    """Explorations commit small chunks."""
    with committing_often():
        yield


class Alone(NamedTuple):
    """A run that nobody disturbs, and its store."""

    run: UUID
    path: Path


@pytest.fixture(scope="module")
def alone(often: None, tmp_path_factory: pytest.TempPathFactory) -> Alone:
    """What the others must find, too."""
    path = tmp_path_factory.mktemp("alone") / "alone.duckdb"
    return Alone(explore(Order("all", str(path))).run, path)


def wait_for(path: Path) -> None:
    """Waits until there is a run."""
    for _ in range(1000):
        try:
            with Store.open_read_only(path) as store:
                if store.runs():
                    return
        except StoreError:
            sleep(0.01)  # it is not there yet
    pytest.fail("nothing came")


def test_others_read_while_a_run_writes(exploring: Explorer, tmp_path: Path) -> None:
    path, nod, seen, reads = tmp_path / "store.duckdb", tmp_path / "nod", (0, 0), 0
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(exploring.run, Order("all", str(path), nod=str(nod)))
        wait_for(path)
        question = ("query", ROWS, "--store", str(path), "--format", "json")
        while not running.done():
            with Store.open_read_only(path) as store:
                (row,) = store.query(ROWS)
                assert store.query(HALF_WRITTEN).rows() == []
                now = int(str(row["n"])), int(str(row["searches"]))
            asked = run(*question)
            assert (asked.code, asked.err) == (0, "")
            assert now >= seen
            reads, seen = reads + (now != seen), now
            nod.touch()
        assert running.result().done
    assert reads > 3
    check(path)


@pytest.mark.stress
def test_one_reader_sees_more_and_more(exploring: Explorer, tmp_path: Path) -> None:
    path, seen = tmp_path / "store.duckdb", set[int]()
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(exploring.run, Order("all", str(path), pause=0.05))
        wait_for(path)
        with Store.open_read_only(path) as store:
            while not running.done():
                (row,) = store.query(ROWS)
                now = int(str(row["n"]))
                assert now >= max(seen, default=0)
                seen.add(now)
                sleep(0.1)
        assert running.result().done
    assert len(seen) > 3


@pytest.mark.stress
def test_a_run_that_writes_all_the_time_lets_others_read(forks: Forks, tmp_path: Path) -> None:
    path, seen = tmp_path / "store.duckdb", [0]
    with writing(forks, str(path), NO_LIMIT) as fork:
        read_chunks(fork, 1)
        for _ in range(3):
            with Store.open_read_only(path) as store:
                (row,) = store.query(ROWS)
                seen.append(int(str(row["n"])))
                assert store.query(HALF_WRITTEN).rows() == []
    assert seen == sorted(seen)
    assert all(rows % ROW_GROUP == 0 for rows in seen)


@pytest.mark.parametrize("kind", ["all", "fresh"])
def test_two_runs_write_to_one_store(
    exploring: Explorer, alone: Alone, tmp_path: Path, kind: str
) -> None:
    path = tmp_path / "store.duckdb"
    with ThreadPoolExecutor(1) as pool:
        other = pool.submit(exploring.run, Order(kind, str(path), pause=0.01))
        wait_for(path)
        mine = explore(Order(kind, str(path)))
        assert other.result().done
    check(path)
    with Store.open_read_only(path) as store, Store.open_read_only(alone.path) as before:
        assert {run.status for run in store.runs()} == {RunStatus.DONE}
        assert mine.run in {run.id for run in store.runs()}
        results = [store.best(run.id) for run in store.runs()]
        assert results == [before.best(alone.run)] * 2
        if kind == "fresh":
            for run in store.runs():
                assert recorded(store, run.id) == recorded(before, alone.run)


class Meanwhile:
    """Somebody who does something while a run goes on."""

    def __init__(self, store: Store, path: Path) -> None:
        self.store = store
        self.path = path
        self.holding = running(HOLD, str(path))
        self.committed = 0
        self._is_taken = False

    def start(self, network: NetworkProblem) -> None:
        """Nothing yet."""

    def recall(self, batch: EvaluationBatch) -> None:
        """There is nothing to recall."""

    def observe(self, batch: EvaluationBatch) -> None:
        """When something is committed another process takes the file, and does not give it back."""
        if not self.committed:
            (row,) = self.store.query(ROWS)
            self.committed = int(str(row["n"]))
        if self.committed and not self._is_taken:
            self._is_taken = True
            self.store.close()  # it would do so itself in a moment
            assert read_line(self.holding.__enter__()) == "open"


@pytest.mark.stress
def test_a_run_that_cannot_write_any_more_is_gone_on_with(alone: Alone, tmp_path: Path) -> None:
    path, plan = tmp_path / "store.duckdb", KINDS["all"].plan
    with Store.open(path, patience=0.1) as store:
        meanwhile = Meanwhile(store, path)
        with pytest.raises(StoreError, match="another process has it open; expected an"):
            explore_network(NETWORK, plan, store=store, progress=meanwhile)
    meanwhile.holding.__exit__(None, None, None)
    check(path)
    with Store.open_read_only(path) as store:
        (run,) = store.runs()
        (row,) = store.query(ROWS)
    assert 0 < meanwhile.committed <= int(str(row["n"]))
    again = resume(run.id, path)
    assert again.run == run.id
    check(path)
    with Store.open_read_only(path) as store, Store.open_read_only(alone.path) as before:
        assert store.best(run.id) == before.best(alone.run)
        assert recorded(store, run.id) == recorded(before, alone.run)
