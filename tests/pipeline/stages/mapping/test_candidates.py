"""Several spatial mappings of a layer: more are never worse, orderings may rule some out."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nestmap.model import (
    EvaluationBatch,
    InputError,
    Layer,
    LayerConstraints,
    MappingProblem,
    Objective,
    SpatialMapping,
    SpatialProblem,
)
from nestmap.model.base import copy_with
from nestmap.pipeline import each
from nestmap.pipeline.explore.api import explore_network
from nestmap.pipeline.explore.options import SearchOptions
from nestmap.pipeline.explore.plan import SearchPlan
from nestmap.pipeline.stages import (
    CostModelStage,
    LomaStage,
    OrderedCandidatesStage,
    RankByBoundStage,
    SpatialMappingGeneratorStage,
    minimal,
)
from nestmap.pipeline.stages.mapping.temporal_search import Rank
from nestmap.search.spatial.lower_bounds import lower_bounds
from tests.loma import LOMA_PLAN
from tests.pipeline.networks import FIRST, MACHINE, PROBLEM, constrained
from tests.properties.variants import examples, few_examples
from tests.search.temporal.orderings import items
from tests.strategies import layers, mapping_problems

ALL = 10**6


def candidates(problem: MappingProblem, most: int, *, mixed: bool = False) -> list[SpatialProblem]:
    return list(SpatialMappingGeneratorStage(max_mappings=most, mixed=mixed)(problem))


def best(found: list[SpatialProblem], objective: Objective) -> EvaluationBatch:
    """The best of all mappings under all of the spatial mappings; without a row if none fits."""
    one = LomaStage(lpf_limit=2) >> each(CostModelStage()) >> minimal(objective)
    return (each(one) >> minimal(objective))(found)


def least(found: list[SpatialProblem], objective: Objective) -> float:
    return min(best(found, objective).values(objective).tolist(), default=float("inf"))


@examples
@given(mapping_problems(2**10), st.sampled_from(Objective), st.integers(1, 5), st.integers(1, 5))
def test_more_spatial_mappings_are_never_worse(
    problem: MappingProblem, objective: Objective, few: int, more: int
) -> None:
    some, all_of_them = candidates(problem, few), candidates(problem, few + more)
    assert all_of_them[: len(some)] == some
    assert least(all_of_them, objective) <= least(some, objective)


@few_examples
@given(layers(2**6), st.sampled_from(Objective))
def test_mixed_mappings_beside_the_others_are_never_worse(
    layer: Layer, objective: Objective
) -> None:
    problem = MappingProblem(layer=layer, accelerator=MACHINE)
    plain, mixed = candidates(problem, ALL), candidates(problem, ALL, mixed=True)
    assert set(plain) <= set(mixed)
    assert least(mixed, objective) <= least(plain, objective)


@pytest.mark.parametrize("objective", Objective)
def test_networks_get_no_worse_with_more_candidates(objective: Objective) -> None:
    def value(most: int, *, mixed: bool) -> list[float]:
        spatial = SpatialMappingGeneratorStage(max_mappings=most, mixed=mixed)
        plan = SearchPlan(search=LomaStage(), objective=objective, spatial=spatial)
        return [objective.of(x.cme) for x in explore_network(PROBLEM, plan).layers]

    plain = [value(most, mixed=False) for most in (1, 3, 10, ALL)]
    for fewer, more in pairwise(plain):
        assert all(a >= b for a, b in zip(fewer, more, strict=True))
    everything = value(ALL, mixed=True)
    assert all(a >= b for a, b in zip(plain[-1], everything, strict=True))
    assert everything != plain[0]  # so there was something to find


@examples
@given(mapping_problems(2**10), st.sampled_from(Objective), st.integers(1, 5))
def test_those_with_the_least_bounds_are_kept(
    problem: MappingProblem, objective: Objective, most: int
) -> None:
    found = candidates(problem, 10)
    kept = list(RankByBoundStage(objective=objective, most=most)(iter(found)))
    bounds = [lower_bounds(spatial).of(objective) for spatial in kept]
    assert bounds == sorted(lower_bounds(spatial).of(objective) for spatial in found)[:most]
    assert [x for x in found if x in kept and lower_bounds(x).of(objective) == bounds[0]] == [
        x for x, bound in zip(kept, bounds, strict=True) if bound == bounds[0]
    ]


@pytest.mark.parametrize("objective", Objective)
def test_with_all_candidates_the_rank_by_bound_is_never_worse(objective: Objective) -> None:
    by_rank = [
        explore_network(
            PROBLEM,
            SearchPlan.of(
                SearchOptions(search="loma", objective=objective, spatial_mappings=1000, rank=rank)
            ),
        ).layers
        for rank in Rank
    ]
    values = [[objective.of(x.cme) for x in layers] for layers in by_rank]
    assert all(bound <= use for use, bound in zip(*values, strict=True))


def test_evaluations_of_all_candidates_count() -> None:
    found = explore_network(PROBLEM, LOMA_PLAN)
    for layer, result in zip(PROBLEM.workload.layers, found.layers, strict=True):
        tried = candidates(MappingProblem(layer=layer, accelerator=MACHINE), 3)
        assert len(tried) == 3
        one_by_one = (each(LomaStage() >> each(CostModelStage()) >> minimal(Objective.LATENCY)))(
            tried
        )
        assert result.statistics.evaluations == sum(x.statistics.evaluations for x in one_by_one)


def ordered(text: str) -> LayerConstraints:
    return LayerConstraints(temporal_ordering=items(text))


def test_spatial_mappings_under_which_an_ordering_cannot_hold_are_skipped() -> None:
    # all iterations of K in time: not where some are spread over the array
    plan = SearchPlan(search=LomaStage(), spatial=SpatialMappingGeneratorStage(max_mappings=ALL))
    found = explore_network(constrained(copy_with(ordered("K 8"), {"target": "first"})), plan)
    chosen = found.layers[0].cme
    assert chosen.spatial_mapping.factor_of("K") == 1
    assert str(chosen.temporal_mapping.order[0]) == "K 8"
    free = explore_network(PROBLEM, plan)
    assert free.layers[0].statistics.evaluations > found.layers[0].statistics.evaluations
    assert free.layers[1] == found.layers[1]


def test_an_ordering_that_holds_nowhere_is_wrong_input() -> None:
    with pytest.raises(InputError) as caught:
        explore_network(constrained(ordered("K 7")), LOMA_PLAN)
    assert caught.value.where == "temporal_ordering for layer first"
    assert caught.value.found == "item 1, [K, 7]"


def problems(ordering: str, *dimensions: str) -> list[SpatialProblem]:
    """The first layer with an ordering, each dimension unrolled over the array twice."""
    problem = MappingProblem(layer=FIRST, accelerator=MACHINE, constraints=ordered(ordering))
    unrollings = [f'{{"array_dimension":"D1","loops":[{{"dimension":"{d}","size":2}}]}}'
                  for d in dimensions]  # fmt: skip
    return [
        SpatialProblem(
            problem=problem,
            spatial_mapping=SpatialMapping.model_validate_json(f'{{"unrollings":[{x}]}}'),
        )
        for x in unrollings
    ]


def test_the_stage_passes_on_what_can_hold_in_order() -> None:
    stream = OrderedCandidatesStage()(iter(problems("K 8", "K", "C", "K", "B")))
    unrolled = [str(spatial.spatial_mapping) for spatial in stream]
    assert unrolled == ["D1: C 2", "D1: B 2"]


def test_the_stage_tells_why_not_under_the_first() -> None:
    with pytest.raises(InputError) as caught:
        list(OrderedCandidatesStage()(problems("K 8 C 12 B 2", "C", "K", "B")))
    assert caught.value.found == "item 2, [C, 12]"


def test_the_stage_without_candidates_has_nothing_to_say() -> None:
    assert list(OrderedCandidatesStage()(())) == []
