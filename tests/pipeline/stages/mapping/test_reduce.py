"""The reducers that keep more than the best, as stages, on real evaluations."""

from collections.abc import Iterator

import pytest
from pydantic import ValidationError

from nestmap.costmodel.evaluate import evaluate_batch
from nestmap.model import (
    EvaluationBatch,
    MappingBatch,
    MappingType,
    Objective,
    SpatialProblem,
    TemporalMapping,
)
from nestmap.pipeline import each, stage
from nestmap.pipeline.describe import describe
from nestmap.pipeline.stages import (
    BestFirstStage,
    CostModelStage,
    FlattenStage,
    KBestStage,
    LomaStage,
    ParetoStage,
    minimal,
)
from nestmap.search import best_first, k_best, loma, pareto_front
from tests.costmodel.machines import machine, mapped, matmul, memory

LAYER = matmul(k=8, c=6)
MACHINE = machine(
    memory("register", size=64, operands="I2"), memory("top", served="D1"), sides={"D1": 4}
)
SPATIALS = tuple(mapped(LAYER, MACHINE, x) for x in ({"D1": "K 4"}, {"D1": "C 3"}, {}))


def evaluations(spatial: SpatialProblem = SPATIALS[0]) -> list[EvaluationBatch]:
    return [evaluate_batch(batch) for batch in loma(spatial, 6, MappingType.UNEVEN)]


def mappings(batches: tuple[EvaluationBatch, ...]) -> list[TemporalMapping]:
    return [x.mappings.row(i) for x in batches for i in range(len(x))]


@stage
def spatials(problem: SpatialProblem) -> Iterator[SpatialProblem]:
    """All three, whatever is given."""
    assert problem in SPATIALS
    yield from SPATIALS


ORDERS = LomaStage() >> each(CostModelStage())
PER_LAYER = spatials >> each(ORDERS) >> FlattenStage[EvaluationBatch]()


def test_pareto_stage_is_the_front() -> None:
    found, expected = ParetoStage()(iter(evaluations())), pareto_front(evaluations())
    assert mappings(found.rows) == mappings(expected.rows)
    assert found.problem == SPATIALS[0].problem


@pytest.mark.parametrize("objective", Objective)
def test_k_best_stage_is_k_best(objective: Objective) -> None:
    found = KBestStage(objective=objective, k=5)(iter(evaluations()))
    assert len(found) == 5
    assert mappings(found.rows) == mappings(k_best(evaluations(), objective, 5).rows)


@pytest.mark.parametrize("objective", Objective)
def test_best_first_stage_keeps_all(objective: Objective) -> None:
    batches = evaluations()
    found = BestFirstStage(objective=objective)(iter(batches))
    assert mappings(found) == mappings(best_first(batches, objective))
    assert sum(map(len, found)) == sum(map(len, batches))
    assert found[0].mappings.row(0) == minimal(objective)(batches).mappings.row(0)


@pytest.mark.parametrize("objective", Objective)
def test_the_best_over_all_spatial_mappings_is_on_their_front(objective: Objective) -> None:
    shortlist = (PER_LAYER >> ParetoStage())(SPATIALS[0])
    per_spatial = spatials >> each(ORDERS >> minimal(objective)) >> minimal(objective)
    best = per_spatial(SPATIALS[0])
    assert min(float(row.values(objective)[0]) for row in shortlist.rows) == best.values(objective)
    assert shortlist.statistics == best.statistics


def test_streams_are_flattened_lazily_and_in_order() -> None:
    def streams() -> Iterator[Iterator[int]]:
        yield iter((1, 2))
        yield iter(())
        yield iter((3,))
        raise AssertionError("asked for too much")

    flat = FlattenStage[int]()(streams())
    assert [next(flat) for _ in range(3)] == [1, 2, 3]


def test_without_a_fitting_mapping_the_shortlist_says_why() -> None:
    small = memory("small", size=7, operands="I2", served="D1")
    spatial = mapped(LAYER, machine(small, memory("top", served="D1")))
    for reducer in (ParetoStage(), KBestStage(objective=Objective.EDP, k=3)):
        shortlist = (ORDERS >> reducer)(spatial)
        assert len(shortlist) == 0
        assert shortlist.problem == spatial.problem
        (reason,) = shortlist.statistics.infeasible
        assert reason.reason == "small too small for W: needs at least 8 bit, has 7"


def test_options_are_checked_and_shown() -> None:
    with pytest.raises(ValidationError):
        KBestStage(objective=Objective.EDP, k=0)
    chosen = KBestStage(objective=Objective.EDP, k=3)
    assert KBestStage.model_validate_json(describe(chosen)[0].options) == chosen
    kept = BestFirstStage(objective=Objective.LATENCY)
    assert BestFirstStage.model_validate_json(describe(kept)[0].options) == kept


def test_a_shortlist_has_a_column_for_each_cost() -> None:
    shortlist = KBestStage(objective=Objective.ENERGY, k=3)(evaluations())
    rows = [evaluate_batch(MappingBatch.of(SPATIALS[0], m)) for m in mappings(shortlist.rows)]
    assert shortlist.energies == tuple(row.energy[0] for row in rows)
    assert shortlist.latencies == tuple(row.latency2[0] for row in rows)
