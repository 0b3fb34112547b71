"""The size of an exploration is what it then evaluates."""

from pathlib import Path
from typing import Final

import pytest
from hypothesis import given

from nestmap.model import (
    InputError,
    LayerConstraints,
    NetworkProblem,
    OrderedLoop,
    Recording,
    RecordMode,
    SpatialProblem,
    Workload,
)
from nestmap.model.base import copy_with
from nestmap.model.workload.builders import conv2d
from nestmap.pipeline.explore.api import explore_front, explore_network, read_network
from nestmap.pipeline.explore.options import SearchOptions
from nestmap.pipeline.explore.plan import SearchPlan
from nestmap.pipeline.explore.size import ROW_BYTES, ExplorationSize, LayerSize, exploration_size
from nestmap.pipeline.stages import LomaStage, SalsaStage
from nestmap.pipeline.stages.mapping.temporal_search import Rank
from nestmap.store import Store
from tests.loma import LOMA_PLAN
from tests.pipeline.networks import FIRST, MACHINE, PROBLEM, SECOND, constrained
from tests.properties.variants import examples
from tests.strategies import spatial_problems

AGAIN: Final = copy_with(FIRST, {"name": "again"})
REPEATED: Final = NetworkProblem(
    workload=Workload.of(FIRST, SECOND, AGAIN, name="net"), accelerator=MACHINE
)
PINNED: Final = constrained(
    LayerConstraints(target="first", temporal_ordering=(OrderedLoop(dimension="C", size=2),))
)


def loma(
    lpf_limit: int | None = 6,
    spatial_mappings: int = 3,
    pad: float | None = None,
    mixed: bool | None = None,
) -> SearchPlan:
    """A plan with LOMA."""
    options = SearchOptions(
        search="loma",
        lpf_limit=lpf_limit,
        spatial_mappings=spatial_mappings,
        pad=pad,
        mixed=mixed,
        workers=1,
    )
    return SearchPlan.of(options)


SALSA: Final = copy_with(LOMA_PLAN, {"search": SalsaStage(chains=3, iterations=20)})

PLANS: Final = {
    "loma": loma(),
    "loma of three factors": loma(lpf_limit=3, spatial_mappings=1),
    "loma of all factors": loma(lpf_limit=None),
    "padded": loma(pad=20),
    "mixed": loma(mixed=True, spatial_mappings=9),
    "salsa": SALSA,
    "salsa of all orders": copy_with(LOMA_PLAN, {"search": SalsaStage()}),
}


@pytest.mark.parametrize("network", [PROBLEM, REPEATED, PINNED], ids=["two", "repeated", "pinned"])
@pytest.mark.parametrize("plan", PLANS.values(), ids=PLANS)
def test_as_many_mappings_are_tried_as_the_size_says(
    network: NetworkProblem, plan: SearchPlan
) -> None:
    size = exploration_size(network, plan)
    tried = 0
    for layer in explore_network(network, plan).total.layers:
        statistics = layer.statistics
        tried += statistics.evaluations + sum(x.count for x in statistics.infeasible)
    assert size.mappings == tried > 0


@examples
@given(spatial_problems(most_macs=2_000))
def test_searches_of_any_problem_try_as_many_as_they_say(spatial: SpatialProblem) -> None:
    for stage in (LomaStage(), LomaStage(lpf_limit=3)):
        batches = list(stage(spatial))
        failed = [x.count for batch in batches for x in batch.statistics.infeasible]
        assert stage.order_count(spatial, Rank.UTILIZATION) == sum(map(len, batches)) + sum(failed)
    for annealing in (SalsaStage(), SalsaStage(chains=2, iterations=3)):
        evaluated = list(annealing(spatial))
        failed = [x.count for batch in evaluated for x in batch.statistics.infeasible]
        assert annealing.order_count(spatial, Rank.BOUND) == sum(map(len, evaluated)) + sum(failed)


def test_a_repeated_layer_counts_once() -> None:
    assert exploration_size(REPEATED, LOMA_PLAN) == exploration_size(PROBLEM, LOMA_PLAN)
    assert [x.layer for x in exploration_size(REPEATED, LOMA_PLAN).layers] == ["first", "second"]


def test_tensors_that_may_stay_on_chip_have_layers_only() -> None:
    size = exploration_size(REPEATED, copy_with(LOMA_PLAN, {"keep_on_chip": True}))
    assert size.mappings is None
    assert [x.layer for x in size.layers] == [x.name for x in REPEATED.workload.layers]


def test_the_exact_search_has_layers_only() -> None:
    size = exploration_size(REPEATED)
    assert size == ExplorationSize((LayerSize("first", None), LayerSize("second", None)))
    assert size.mappings is None
    assert size.searches is None
    assert size.record_bytes(Recording()) == 0


def test_pruning_can_only_do_less() -> None:
    plan = copy_with(LOMA_PLAN, {"prune": True})
    size = exploration_size(PROBLEM, plan)
    assert size == exploration_size(PROBLEM, LOMA_PLAN)
    assert explore_network(PROBLEM, plan).total.evaluations <= (size.mappings or 0)


def test_a_search_for_fronts_has_the_size_of_one_for_the_best() -> None:
    found = explore_front(PROBLEM, LOMA_PLAN).front.layers
    tried = sum(x.statistics.evaluations for x in found)
    failed = sum(y.count for x in found for y in x.statistics.infeasible)
    assert exploration_size(PROBLEM, LOMA_PLAN).mappings == tried + failed


def test_an_ordering_that_cannot_be_met_is_said_before_anything_is_searched() -> None:
    asks = (OrderedLoop(dimension="C", size=5),)
    network = constrained(LayerConstraints(target="first", temporal_ordering=asks))
    with pytest.raises(InputError, match="temporal_ordering for layer first"):
        exploration_size(network, LOMA_PLAN)


SIZE: Final = ExplorationSize((LayerSize("a", (10, 2_000_000)), LayerSize("b", (500,))))


@pytest.mark.parametrize(
    ("recording", "rows"),
    [
        (Recording(), 1_000_510),
        (Recording(limit=None), 2_000_510),
        (Recording(limit=100), 210),
        (Recording(record=RecordMode.BEST), 0),
        (Recording(record=RecordMode.NONE), 0),
    ],
)
def test_the_record_has_a_row_for_each_mapping_up_to_the_limit(
    recording: Recording, rows: int
) -> None:
    assert SIZE.record_bytes(recording) == rows * ROW_BYTES


def test_a_record_takes_about_as_many_bytes_as_estimated(tmp_path: Path) -> None:
    layer = conv2d("conv", (1, 64, 56, 56), (64, 64, 3, 3), padding=1)
    network = read_network(Workload.of(layer, name="net"), "tpu_like")
    plan = loma(lpf_limit=9, spatial_mappings=1)
    file, small = tmp_path / "large.duckdb", tmp_path / "small.duckdb"
    for path, recording in ((file, Recording()), (small, Recording(record=RecordMode.NONE))):
        with Store.open(path) as store:
            explore_network(network, plan, store=store, recording=recording)
    written = file.stat().st_size - small.stat().st_size
    assert 0.25 < written / exploration_size(network, plan).record_bytes(Recording()) < 1.6
