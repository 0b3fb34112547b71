"""Layers that a finished run explored: later runs reuse them without spatial mappings."""

import shutil
from pathlib import Path
from typing import Final
from uuid import UUID

import duckdb
import pytest

from nestmap.model import EvaluationBatch, NetworkProblem, Objective, Recording, RecordMode
from nestmap.model.base import copy_with
from nestmap.pipeline.explore.api import explore_network
from nestmap.pipeline.explore.options import SearchOptions
from nestmap.pipeline.explore.plan import SearchPlan
from nestmap.pipeline.explore.recording import known_tries
from nestmap.pipeline.explore.resume import resume
from nestmap.pipeline.explore.size import exploration_size
from nestmap.pipeline.stages import ExactStage, SpatialMappingGeneratorStage
from nestmap.search.version import VERSION
from nestmap.store import Store
from tests.pipeline.stages.kinds import COSTING, KINDS, LARGE, SEARCHING, Function, Kind, forbid
from tests.sweeps import every

GENERATING: Final[tuple[Function, ...]] = (
    ("nestmap.pipeline.stages.mapping.candidates", "spatial_mappings"),
    ("nestmap.pipeline.stages.mapping.candidates", "meets_constraints"),
    ("nestmap.pipeline.stages.mapping.candidates", "all_spatial_mappings"),
    ("nestmap.pipeline.stages.mapping.candidates", "lower_bounds"),
    ("nestmap.pipeline.stages.mapping.bounds", "lower_bounds"),
    ("nestmap.pipeline.stages.mapping.layers", "padded_sizes"),
)
PLAN: Final = SearchPlan.of(SearchOptions(search="loma", lpf_limit=4, spatial_mappings=2))
LINKS: Final = """
SELECT layer, position, search, recalled FROM run_searches WHERE run = ? ORDER BY position
"""
RESULTS: Final = "SELECT * EXCLUDE (run, cpu_seconds) FROM results WHERE run = ? ORDER BY position"
FIRST_LAYERS: Final = "SELECT problem, statistics FROM explored_layers WHERE run = ? ORDER BY first"

DIAGONAL: Final = Kind(
    SearchPlan(search=PLAN.search, spatial=SpatialMappingGeneratorStage(weight_diagonal=True)),
    KINDS["eyeriss_like"].network,
)
"""A stage replaces the accelerator of some spatial mappings."""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "runs.duckdb"


def written(path: Path, run: UUID) -> list[list[tuple[object, ...]]]:
    """What a store holds of a run: links to searches, results, explored layers."""
    with duckdb.connect(str(path), read_only=True) as connection:
        return [
            connection.execute(sql, [str(run)]).fetchall() for sql in (LINKS, RESULTS, FIRST_LAYERS)
        ]


def forget(path: Path) -> None:
    """Leaves what an older version would have recorded."""
    with duckdb.connect(str(path)) as connection:
        connection.execute("DELETE FROM explored_layers")


@pytest.mark.parametrize("name", every(4, [*KINDS, "diagonal"]))
def test_a_layer_is_reused_without_its_spatial_mappings(
    name: str, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kind = KINDS.get(name, DIAGONAL)
    plan = kind.plan
    with Store.open(path) as store:
        first = explore_network(kind.network, plan, store=store)
    forget(path)
    with Store.open(path) as store:
        by_search = explore_network(kind.network, plan, store=store)
    forbid(monkeypatch, *GENERATING, *SEARCHING, COSTING)
    with Store.open(path) as store:
        again = explore_network(kind.network, plan, store=store)
        assert store.best(again.run) == first.total
    assert again.total == by_search.total == first.total
    assert written(path, again.run) == written(path, by_search.run)


def explored(path: Path, plan: SearchPlan = PLAN, recording: Recording | None = None) -> UUID:
    with Store.open(path) as store:
        return explore_network(LARGE, plan, store=store, recording=recording).run


@pytest.fixture(scope="module", name="known_everywhere")
def _known_everywhere(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with an exploration by the usual plan."""
    path = tmp_path_factory.mktemp("known") / "runs.duckdb"
    explored(path)
    return path


@pytest.fixture
def known(known_everywhere: Path, path: Path) -> Path:
    """A copy of it."""
    shutil.copyfile(known_everywhere, path)
    return path


def layers(path: Path) -> int:
    with duckdb.connect(str(path), read_only=True) as connection:
        (count,) = connection.execute("SELECT count(*) FROM explored_layers").fetchall()[0]
    assert isinstance(count, int)
    return count


CHANGES: Final[dict[str, dict[str, object]]] = {
    "objective": {"objective": Objective.ENERGY},
    "search": {"search": copy_with(PLAN.search, {"lpf_limit": 3})},
    "spatial": {"spatial": SpatialMappingGeneratorStage(max_mappings=1)},
    "rank": {"rank": SearchPlan.of(SearchOptions(rank="bound")).rank},
    "padding": {"padding": SearchPlan.of(SearchOptions(pad=50)).padding},
    "prune": {"prune": True},
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_another_way_of_exploring_generates_spatial_mappings(
    change: dict[str, object], known: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    forbid(monkeypatch, *GENERATING)
    with pytest.raises(AssertionError, match="computed before"):
        explored(known, copy_with(PLAN, change))


def test_another_version_of_the_search_explores_again(
    known: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    forbid(monkeypatch, *GENERATING)
    monkeypatch.setattr("nestmap.pipeline.explore.keys.SEARCH_VERSION", VERSION + 1)
    with pytest.raises(AssertionError, match="computed before"):
        explored(known)


@pytest.mark.parametrize("workers", [1, 3])
def test_the_number_of_threads_does_not_matter(
    workers: int, known: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    forbid(monkeypatch, *GENERATING)
    explored(known, copy_with(PLAN, {"search": copy_with(PLAN.search, {"workers": workers})}))


def test_a_run_that_computes_everything_again_reuses_no_layer(
    known: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    forbid(monkeypatch, *GENERATING)
    with pytest.raises(AssertionError, match="computed before"):
        explored(known, recording=Recording(fresh=True))


def test_a_layer_of_which_too_little_is_recorded_is_explored_again(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    explored(path, recording=Recording(record=RecordMode.BEST))
    forbid(monkeypatch, *GENERATING)
    explored(path, recording=Recording(record=RecordMode.BEST))
    with pytest.raises(AssertionError, match="computed before"):
        explored(path, recording=Recording())


def test_what_a_time_limit_has_cut_is_not_reused_as_if_it_were_whole(path: Path) -> None:
    plan, timed = SearchPlan(), SearchPlan.of(SearchOptions(time_limit=1e-9, workers=1))
    with Store.open(path) as store:
        cut = explore_network(LARGE, timed, store=store).total
    assert all(x.statistics.cut for x in cut.layers)
    assert layers(path) == 0
    with Store.open(path) as store:
        whole = explore_network(LARGE, plan, store=store).total
    assert whole == explore_network(LARGE, plan).total
    assert not any(x.statistics.cut for x in whole.layers)
    assert layers(path) > 0


def test_a_layer_that_a_limit_of_work_ended_is_reused(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = SearchPlan(search=ExactStage(layer_labels=1))
    with Store.open(path) as store:
        first = explore_network(LARGE, plan, store=store).total
        assert any(x.statistics.unproven for x in first.layers)
        forbid(monkeypatch, *GENERATING, *SEARCHING)
        assert explore_network(LARGE, plan, store=store).total == first


class StoppedError(Exception):
    """Of someone who stops a run."""


class Stopping:
    """Stops a run in its second layer."""

    def start(self, network: NetworkProblem) -> None:
        """Nothing to stop yet."""

    def observe(self, batch: EvaluationBatch) -> None:
        if batch.mappings.problem.layer.name == "second":
            raise StoppedError

    def recall(self, batch: EvaluationBatch) -> None:
        """Nothing is computed."""


def test_only_finished_runs_have_explored_layers(path: Path) -> None:
    with Store.open(path) as store:
        with pytest.raises(StoppedError):
            explore_network(LARGE, PLAN, store=store, progress=Stopping())
        (run,) = store.runs()
    assert layers(path) == 0
    with Store.open(path) as store:
        resumed = resume(run.id, store)
    assert layers(path) == 2
    links = written(path, resumed.run)[0]
    assert [recalled for *_, recalled in links] == [False] * 4


def test_a_resumed_run_may_reuse_layers_that_link_its_own_searches(path: Path) -> None:
    with Store.open(path) as store:
        with pytest.raises(StoppedError):
            explore_network(LARGE, PLAN, store=store, progress=Stopping())
        (run,) = store.runs()
    explored(path)  # reuses the two searches of the first layer
    with Store.open(path) as store:
        resume(run.id, store)
    links = written(path, run.id)[0]
    assert [recalled for *_, recalled in links] == [False, False, True, True]


@pytest.mark.parametrize("name", ["loma", "many mappings", "salsa", "pad", "blocks"])
def test_the_size_of_what_is_known_needs_no_spatial_mappings(
    name: str, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    network, plan = KINDS[name].network, KINDS[name].plan
    size = exploration_size(network, plan)
    with Store.open(path) as store:
        explore_network(network, plan, store=store)
        forbid(monkeypatch, *GENERATING)
        assert exploration_size(network, plan, known_tries(store, plan, Recording())) == size
        known = known_tries(store, plan, Recording(fresh=True))
        with pytest.raises(AssertionError, match="computed before"):
            exploration_size(network, plan, known)
