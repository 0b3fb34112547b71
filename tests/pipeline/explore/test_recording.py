"""What explorations record, and what of it later ones reuse."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final
from uuid import UUID

import pytest

from nestmap.model import (
    EvaluationBatch,
    InfeasibleError,
    NetworkEvaluation,
    NetworkProblem,
    Recording,
    RecordMode,
    SpatialMapping,
    TemporalMapping,
)
from nestmap.model.base import copy_with
from nestmap.pipeline import each
from nestmap.pipeline.explore.api import explore_front, explore_network
from nestmap.pipeline.explore.choices import Search
from nestmap.pipeline.explore.options import SearchOptions
from nestmap.pipeline.explore.plan import SearchPlan
from nestmap.pipeline.explore.recording import record_run
from nestmap.pipeline.explore.run import Job
from nestmap.pipeline.stages import (
    CostModelStage,
    LomaStage,
    OrderedCandidatesStage,
    RecallStage,
    WorkloadStage,
)
from nestmap.store import RunStatus, Store
from tests.pipeline.networks import MACHINE
from tests.pipeline.stages.kinds import COSTING, LARGE, SEARCHING, Seen, forbid, salsa
from tests.sweeps import every

PLAN: Final = SearchPlan.of(SearchOptions(search="loma", lpf_limit=5, spatial_mappings=2))

Row = tuple[TemporalMapping, tuple[float, ...]]
"""A mapping with energy and latency 0 to 2."""

Searches = dict[tuple[str, SpatialMapping], list[Row]]
"""The rows of each search, in order: a layer under a spatial mapping."""


@dataclass
class Notebook:
    """Whoever writes down every evaluation."""

    searches: Searches = field(default_factory=dict[tuple[str, SpatialMapping], list[Row]])

    def start(self, network: NetworkProblem) -> None:
        """Nothing to note."""

    def observe(self, batch: EvaluationBatch) -> None:
        add(self.searches, batch)

    def recall(self, batch: EvaluationBatch) -> None:
        raise AssertionError("nothing should be known")


def add(searches: Searches, batch: EvaluationBatch) -> None:
    spatial = batch.mappings.problem
    rows = searches.setdefault((spatial.layer.name, spatial.spatial_mapping), [])
    columns = (batch.energy, batch.latency0, batch.latency1, batch.latency2)
    costs = zip(*(column.tolist() for column in columns), strict=True)
    rows += [(batch.mappings.row(i), row) for i, row in enumerate(costs)]


def evaluated(network: NetworkProblem, plan: SearchPlan) -> Searches:
    """What an exploration evaluates."""
    notes = Notebook()
    explore_network(network, plan, progress=notes)
    return notes.searches


def kept(store: Store, run: UUID) -> Searches:
    """What is recorded of a run."""
    searches: Searches = {}
    for layer in store.problem(run).workload.layers:
        for batch in store.evaluations(run, layer.name):
            add(searches, batch)
    return searches


def best(rows: list[Row], first: int = 0) -> list[Row]:
    """Of the rows from ``first`` on those that no row at all beats in energy and latency."""
    costs = [(energy, latency2) for _, (energy, *_, latency2) in rows]
    return [
        rows[i]
        for i in range(first, len(rows))
        if not any(beats(costs, j, i) for j in range(len(rows)))
    ]


def beats(costs: list[tuple[float, float]], one: int, other: int) -> bool:
    """Whether one row makes another superfluous: by its costs, or as the first of equals."""
    if costs[one] == costs[other]:
        return one < other
    return costs[one][0] <= costs[other][0] and costs[one][1] <= costs[other][1]


@pytest.fixture
def store() -> Iterator[Store]:
    with Store.open(None) as opened:
        yield opened


@pytest.fixture(scope="module")
def everything() -> Searches:
    return evaluated(LARGE, PLAN)


@pytest.fixture(scope="module")
def alone() -> NetworkEvaluation:
    """The result without a store."""
    return explore_network(LARGE, PLAN).total


def expected(everything: Searches, recording: Recording) -> Searches:
    """What a run keeps of all that it evaluates."""
    keeps_best = recording.record is not RecordMode.NONE
    found: Searches = {}
    for search, rows in everything.items():
        first = min(recording.limit or len(rows), len(rows))
        if recording.record is not RecordMode.ALL:
            first = 0
        found[search] = rows[:first] + (best(rows, first) if keeps_best else [])
    return found


def test_the_sample_is_as_large_as_the_limits_say(everything: Searches) -> None:
    assert [len(rows) for rows in everything.values()] == [60, 60, 20, 60]
    assert [len(best(rows)) for rows in everything.values()] == [1, 2, 2, 2]


@pytest.mark.parametrize(
    "recording",
    [
        Recording(),
        Recording(record=RecordMode.BEST),
        Recording(record=RecordMode.NONE),
        *(Recording(limit=limit) for limit in (1, 19, 20, 21, 59, 60, 61, None)),
        Recording(record=RecordMode.BEST, limit=1),
        Recording(record=RecordMode.NONE, limit=1),
    ],
    ids=lambda x: f"{x.record} {x.limit}",
)
def test_a_run_keeps_what_it_is_told_to_the_row(
    recording: Recording, everything: Searches, alone: NetworkEvaluation, store: Store
) -> None:
    run = explore_network(LARGE, PLAN, store=store, recording=recording)
    assert list(kept(store, run.run).items()) == list(expected(everything, recording).items())
    assert run.total == alone == store.best(run.run)


KEPT: Final = {
    Recording(): "aaaa",
    Recording(limit=20): "22a2",
    Recording(limit=30): "33a3",
    Recording(limit=60): "aaaa",
    Recording(record=RecordMode.BEST): "bbbb",
    Recording(record=RecordMode.NONE): "nnnn",
}
"""Of each search, whether a run keeps all evaluations, the best, none, or twenty or thirty."""

ENOUGH: Final = {
    Recording(): "a",
    Recording(limit=None): "a",
    Recording(limit=20): "a23",
    Recording(limit=25): "a3",
    Recording(limit=60): "a",
    Recording(record=RecordMode.BEST): "ab23",
    Recording(record=RecordMode.BEST, limit=60): "ab23",
    Recording(record=RecordMode.NONE): "ab23n",
}
"""What must have been kept of a search that a run need not do again."""


@cache
def recorded(recording: Recording) -> bytes:
    """A store in which an exploration is recorded so."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "store.duckdb"
        explore_network(LARGE, PLAN, store=path, recording=recording)
        return path.read_bytes()


@pytest.mark.parametrize(("first", "second"), every(6, list(product(KEPT, ENOUGH))))
def test_a_run_reuses_searches_of_which_enough_is_kept(
    first: Recording, second: Recording, alone: NetworkEvaluation, tmp_path: Path
) -> None:
    path, seen = tmp_path / "store.duckdb", Seen()
    path.write_bytes(recorded(first))
    with Store.open(path) as store:
        again = explore_network(LARGE, PLAN, store=store, recording=second, progress=seen)
        reused = recalled(store, again.run)
    sufficient = [mode in ENOUGH[second] for mode in KEPT[first]]
    assert reused == sufficient
    layers = [sufficient[:2], sufficient[2:]]  # one that is known in full is reused at once
    assert len(seen.recalled) == sum(1 if all(x) else sum(x) for x in layers)
    assert again.total == alone


def recalled(store: Store, run: UUID) -> list[bool]:
    """Of each search of a run, whether it was in the store already."""
    sql = "SELECT recalled FROM run_searches WHERE run = ? ORDER BY position"
    return [row["recalled"] is True for row in store.query(sql, [run]).rows()]


def test_a_run_that_wants_more_has_it_all_in_the_end(store: Store, everything: Searches) -> None:
    for recording in (Recording(record=RecordMode.NONE), Recording(limit=25), Recording()):
        run = explore_network(LARGE, PLAN, store=store, recording=recording).run
    assert kept(store, run) == everything
    last = explore_network(LARGE, PLAN, store=store)
    assert recalled(store, last.run) == [True] * 4
    assert kept(store, last.run) == everything


def test_a_fresh_run_computes_again_and_leaves_what_is_there(
    store: Store, everything: Searches, alone: NetworkEvaluation
) -> None:
    first = explore_network(LARGE, PLAN, store=store).run
    names = ids(store, first)
    notes = Notebook()  # fails where anything is recalled
    fresh = explore_network(
        LARGE, PLAN, store=store, recording=Recording(fresh=True), progress=notes
    )
    assert notes.searches == everything
    assert fresh.total == alone
    assert kept(store, first) == kept(store, fresh.run) == everything
    assert ids(store, first) == names
    assert not names & ids(store, fresh.run)


def ids(store: Store, run: UUID) -> set[object]:
    """The names of all recorded evaluations of a run."""
    return {row["id"] for row in store.query("FROM evaluations WHERE run = ?", [run]).rows()}


def test_a_fresh_run_evaluates_its_results_again(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    explore_network(LARGE, PLAN, store=store)
    forbid(monkeypatch, COSTING)
    explore_network(LARGE, PLAN, store=store)
    with pytest.raises(AssertionError, match="computed before"):
        explore_network(LARGE, PLAN, store=store, recording=Recording(fresh=True))


@pytest.mark.parametrize("plan", [PLAN, salsa()], ids=["loma", "salsa"])
def test_the_number_of_workers_does_not_matter(plan: SearchPlan) -> None:
    rows = [in_order(copy_with(plan.search, {"workers": n}), plan) for n in (1, 2, 3)]
    assert rows[0]
    assert rows[0] == rows[1] == rows[2]


def in_order(stage: Search, plan: SearchPlan) -> list[object]:
    """What a store holds of an exploration, in the order in which it stands in the table."""
    with Store.open(None) as store:
        run = explore_network(LARGE, copy_with(plan, {"search": stage}), store=store).run
        positions = "SELECT search, position FROM run_searches"
        stored = store.query(
            f"SELECT linked.position, rows.* EXCLUDE (search) FROM evaluation_rows AS rows "
            f"JOIN ({positions}) AS linked USING (search) ORDER BY rows.rowid"
        ).rows()
        return [stored, kept(store, run)]


class GaveUpError(Exception):
    """Of someone who watches."""


@dataclass
class Impatient:
    """Whoever gives up after some batches."""

    left: int

    def start(self, network: NetworkProblem) -> None:
        """Nothing to note."""

    def observe(self, batch: EvaluationBatch) -> None:
        self.left -= 1
        if self.left < 0:
            raise GaveUpError

    def recall(self, batch: EvaluationBatch) -> None:
        """Nothing to note."""


COMPLETE: Final = """
SELECT search.evaluations IS NOT NULL AS complete FROM run_searches AS linked
JOIN searches AS search ON search.id = linked.search WHERE linked.run = ? ORDER BY linked.position
"""


def complete(store: Store, run: UUID) -> list[bool]:
    """Of each search of a run, whether it came to its end."""
    return [row["complete"] is True for row in store.query(COMPLETE, [run]).rows()]


@pytest.mark.parametrize("batches", every(4, range(9)))
def test_a_search_that_someone_breaks_off_is_not_complete(
    batches: int, store: Store, everything: Searches, alone: NetworkEvaluation
) -> None:
    """A search here gives two batches: its mappings, and what does not fit."""
    try:
        explore_network(LARGE, PLAN, store=store, progress=Impatient(batches))
    except GaveUpError:
        assert batches < 8
    (run,) = store.runs()
    assert run.status is (RunStatus.FAILED if batches < 8 else RunStatus.DONE)
    done = [batches >= 2 * (i + 1) for i in range(len(complete(store, run.id)))]
    assert complete(store, run.id) == done
    assert len(done) == min(batches // 2 + 1, 4)
    again = explore_network(LARGE, PLAN, store=store)
    assert again.total == alone
    assert sum(recalled(store, again.run)) == batches // 2
    assert kept(store, again.run) == everything


@pytest.mark.parametrize("batches", [0, 1, 2])
def test_a_search_that_is_left_early_is_not_complete(batches: int, store: Store) -> None:
    (layer, *_) = WorkloadStage()(LARGE)
    first = next(iter(OrderedCandidatesStage()(PLAN.generator(layer))))
    with record_run(Job(LARGE, PLAN), store, Recording()) as run:
        assert run.ledger is not None
        search = LomaStage(lpf_limit=5) >> each(CostModelStage())
        found = RecallStage(search, run.ledger)(first)
        for _ in range(batches):
            next(found)
        del found  # nobody asks it for more
    (record,) = store.runs()
    assert record.status is RunStatus.INTERRUPTED
    assert complete(store, record.id) == ([False] if batches else [])


def test_what_fits_nowhere_is_known_as_well(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    register, *_, top = MACHINE.memories
    small = copy_with(top, {"instance": copy_with(top.instance, {"size": 100})})
    network = copy_with(LARGE, {"accelerator": copy_with(MACHINE, {"memories": (register, small)})})
    with pytest.raises(InfeasibleError) as alone:
        explore_network(network, PLAN)
    for _ in range(2):
        with pytest.raises(InfeasibleError) as caught:
            explore_network(network, PLAN, store=store)
        assert str(caught.value) == str(alone.value)
        forbid(monkeypatch, *SEARCHING, COSTING)
    assert [run.status for run in store.runs()] == [RunStatus.FAILED] * 2


def test_fronts_of_what_was_kept_are_the_fronts_of_all(store: Store) -> None:
    front = explore_front(LARGE, PLAN).front
    for record in reversed(RecordMode):
        recording = Recording(record=record)
        run = explore_front(LARGE, PLAN, store=store, recording=recording)
        assert run.front == front
        assert store.pareto(run.run) == front
