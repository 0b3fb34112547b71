"""More effort is never worse: more spatial mappings, mixed ones, more loop factors."""

from itertools import pairwise
from math import inf
from typing import Final, Unpack

import pytest
from hypothesis import given
from hypothesis import strategies as st

import nestmap
from nestmap.model import (
    Counting,
    InfeasibleError,
    Layer,
    LayerConstraints,
    MappingProblem,
    Objective,
    SpatialProblem,
)
from nestmap.pipeline.explore.api import explore_network, read_network
from nestmap.pipeline.explore.options import SearchOptions
from nestmap.pipeline.explore.plan import SearchPlan, best_stage, candidates_stage
from nestmap.pipeline.explore.size import exploration_size
from nestmap.pipeline.frontend.bundled import accelerator_names
from nestmap.pipeline.frontend.read.accelerator import read_accelerator
from nestmap.pipeline.stages import AllSpatialMappingsStage, SpatialMappingGeneratorStage
from nestmap.pipeline.stages.mapping.temporal_search import Rank
from nestmap.search import spatial_mappings
from nestmap.search.spatial.lower_bounds import lower_bounds
from nestmap.search.temporal.loma import loma_limits
from nestmap.search.temporal.loop_factors import loop_factors
from tests.bundled import bundled_network
from tests.properties.variants import few_examples
from tests.search.temporal.orderings import items
from tests.strategies import mapping_problems

LOMA: Final = SearchOptions(lpf_limit=6, workers=1)
"""LOMA without its name, which would ask for ZigZag's way."""

REFERENCE: Final = read_accelerator("tpu_like").counted(Counting.REFERENCE)
"""Counted as by the reference: exact counting proves more."""


def changed(options: SearchOptions, **others: Unpack[SearchOptions]) -> SearchOptions:
    """The options with others, which override them."""
    return {**options, **others}


def layer(network: str, name: str) -> Layer:
    return next(x for x in bundled_network(network).layers if x.name == name)


def least(problem: MappingProblem, options: SearchOptions) -> float:
    """The objective of the best mapping, infinite if none fits."""
    plan = SearchPlan.of(options)
    try:
        values = best_stage(plan)(problem).values(plan.objective)
    except InfeasibleError:
        return inf
    return min(values.tolist(), default=inf)


@few_examples
@given(mapping_problems(2**10), st.sampled_from(Objective))
def test_more_is_never_worse(problem: MappingProblem, objective: Objective) -> None:
    base = changed(LOMA, objective=objective, lpf_limit=3)
    efforts = [
        base,
        changed(base, spatial_mappings=4),
        changed(base, spatial_mappings=8),
        changed(base, spatial_mappings=8, mixed=True),
        changed(base, spatial_mappings=12, mixed=True),
        changed(base, spatial_mappings=12, mixed=True, lpf_limit=4),
        changed(base, spatial_mappings=12, mixed=True, lpf_limit=None),
    ]
    found = [least(problem, options) for options in efforts]
    assert found == sorted(found, reverse=True)


def test_all_spatial_mappings_share_their_work_and_are_not_worse_than_a_few() -> None:
    """A 1x1 convolution of MobileNetV2, whose search over all ends at its limit."""
    conv = nestmap.conv2d("conv", (1, 16, 112, 112), (96, 16, 1, 1))
    problem = MappingProblem(layer=conv, accelerator=REFERENCE)
    few = SearchOptions(objective=Objective.LATENCY, workers=1, spatial_mappings=40, mixed=True)
    every = SearchPlan.of(changed(few, spatial_mappings="all", mixed=None))
    best = best_stage(every)(problem)
    assert best.statistics.unproven > 0
    assert best.latency2[0] <= least(problem, few)


def test_the_exact_search_tries_mixed_mappings_anyway() -> None:
    """With 40 of a convolution of SqueezeNet on eyeriss_like, it takes less energy than with 3."""
    assert SearchPlan.of(SearchOptions(mixed=True)) == SearchPlan.of(SearchOptions())
    limited = SearchPlan.of(SearchOptions(search="loma", mixed=True)).spatial
    assert limited == SpatialMappingGeneratorStage(mixed=True)


def test_more_factors_never_take_more_cycles() -> None:
    """Those of the reference do here: see tests/properties/test_lpf_limit.py."""
    problem = MappingProblem(
        layer=bundled_network("light:alexnet").layers[6], accelerator=REFERENCE
    )
    one = changed(LOMA, objective="latency", spatial_mappings=1)
    as_zigzag = [least(problem, changed(one, lpf_limit=n)) for n in (5, 6)]
    assert as_zigzag[0] < as_zigzag[1]
    found = [least(problem, changed(one, lpf_limit=n, rank="bound")) for n in (4, 5, 6)]
    assert found == sorted(found, reverse=True)


@pytest.mark.parametrize("name", ["n0", "n140"])
def test_free_mixed_mappings_are_never_worse_than_the_bundled_one(name: str) -> None:
    network = nestmap.network("one", layer("light:resnet50", name).anonymous)
    bundled = explore_network(
        read_network(network, "tpu_like"), SearchPlan.of(SearchOptions(objective="energy"))
    )
    more = changed(
        LOMA, objective="energy", mixed=True, spatial_mappings=10, lpf_limit=6, prune=True
    )
    found = explore_network(read_network(network, "tpu_like", "free"), SearchPlan.of(more))
    assert found.energy <= bundled.energy * (1 + 1e-12)


@pytest.mark.parametrize("accelerator", accelerator_names())
@pytest.mark.parametrize("mixed", [False, True])
def test_simple_and_bundled_mappings_are_always_tried(accelerator: str, mixed: bool) -> None:
    free = problem_of("light:squeezenet", "n62", accelerator, "free")
    bundled = problem_of("light:squeezenet", "n62", accelerator, None)
    plan = SearchPlan.of(changed(LOMA, spatial_mappings=4, mixed=mixed))
    tried = [x.spatial_mapping for x in candidates_stage(plan)(free)]
    assert len(set(tried)) == len(tried) >= 4
    assert set(spatial_mappings(free, 3)) <= set(tried)
    every = AllSpatialMappingsStage()(free)
    if bundled.constraints.spatial_mapping is not None:
        wanted = spatial_mappings(bundled, 1)[0]
        assert wanted in tried
        assert wanted in [every[rank].spatial_mapping for rank in range(len(every))]


def problem_of(network: str, name: str, accelerator: str, mapping: str | None) -> MappingProblem:
    problem = read_network(bundled_network(network), accelerator, mapping)
    return MappingProblem(
        layer=layer(network, name),
        accelerator=problem.accelerator,
        constraints=problem.constraints.of(layer(network, name)),
    )


@few_examples
@given(mapping_problems(2**10), st.sampled_from(Objective), st.booleans(), st.integers(4, 9))
def test_the_lowest_bounds_of_all_are_tried(
    problem: MappingProblem, objective: Objective, mixed: bool, count: int
) -> None:
    options = changed(LOMA, objective=objective, mixed=mixed, spatial_mappings=count)
    tried = list(candidates_stage(SearchPlan.of(options))(problem))
    bounds = [lower_bounds(x).of(objective) for x in tried]
    assert bounds == sorted(bounds)
    every = AllSpatialMappingsStage(objective=objective, mixed=mixed, starts=count)(problem)
    lowest = [lower_bounds(every[rank]).of(objective) for rank in range(every.starts)]
    assert all(bound in bounds for bound in lowest)


def test_an_ordering_leaves_those_under_which_it_holds() -> None:
    problem = problem_of("light:squeezenet", "n62", "tpu_like", "free")
    ordering = LayerConstraints(temporal_ordering=items("C 512"))
    pinned = MappingProblem(
        layer=problem.layer, accelerator=problem.accelerator, constraints=ordering
    )
    plan = SearchPlan.of(changed(LOMA, spatial_mappings=5))
    tried = list(candidates_stage(plan)(pinned))
    assert len(tried) >= 5
    assert all(x.spatial_mapping.factor_of("C") == 1 for x in tried)


def test_the_default_is_that_of_the_reference() -> None:
    ranks = [
        (SearchOptions(search="loma"), Rank.UTILIZATION),
        (SearchOptions(search="salsa", spatial_mappings=2), Rank.UTILIZATION),
        (SearchOptions(lpf_limit=8), Rank.UTILIZATION),
        (SearchOptions(search="loma", mixed=True, spatial_mappings=50), Rank.UTILIZATION),
        (SearchOptions(search="loma", mixed=True, rank="bound"), Rank.BOUND),
        (SearchOptions(lpf_limit=8, mixed=True), Rank.BOUND),
        (SearchOptions(lpf_limit=8, spatial_mappings=4), Rank.BOUND),
        (SearchOptions(spatial_mappings=2), Rank.BOUND),
    ]
    assert [SearchPlan.of(options).effective_rank for options, _ in ranks] == [x for _, x in ranks]
    problem = problem_of("light:squeezenet", "n62", "tpu_like", None)
    chosen = list(candidates_stage(SearchPlan.of(LOMA))(problem))
    assert chosen == list(SpatialMappingGeneratorStage()(problem))


def test_every_limit_with_other_factors_is_tried() -> None:
    problem = problem_of("light:squeezenet", "n62", "tpu_like", "free")
    spatial = SpatialProblem(problem=problem, spatial_mapping=spatial_mappings(problem, 1)[0])
    limits = loma_limits(spatial, 6)
    factors = [loop_factors(spatial, limit) for limit in limits]
    assert limits[0] == 6
    assert all(len(fewer) < len(more) for more, fewer in pairwise(factors))
    assert {loop_factors(spatial, n) for n in range(1, 7)} == set(factors)


def test_the_size_of_an_exploration_counts_all_limits() -> None:
    network = read_network("light:alexnet", "tpu_like")
    plan = SearchPlan.of(changed(LOMA, lpf_limit=4, spatial_mappings=4))
    found = explore_network(network, plan)
    infeasible = sum(y.count for x in found.layers for y in x.statistics.infeasible)
    assert exploration_size(network, plan).mappings == found.total.evaluations + infeasible
