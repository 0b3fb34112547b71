"""The default search against brute force over all spatial mappings, orders and cuts of a layer.

``make stress`` takes a thousand layers.
"""

from collections.abc import Iterator
from typing import Final

import pytest

from nestmap.model import InputError, MappingProblem, Objective, SpatialProblem
from nestmap.pipeline.explore.plan import SearchPlan, best_stage
from nestmap.pipeline.stages import AllSpatialMappingsStage, ExactStage, ExactWalkStage
from nestmap.search import pareto_front
from tests.search.temporal.exact.oracle import Point, count_mappings, pareto, truth
from tests.search.temporal.exact.problems import Kind, Small, seeded_problem
from tests.sweeps import STRESS

WANTED: Final = 77 if STRESS else 4
"""Layers of each kind."""

MOST_MAPPINGS: Final = 200_000 if STRESS else 20_000
"""Mappings of all spatial mappings of a layer together; brute force takes a microsecond each."""

FEWEST: Final = 3
"""Spatial mappings of a layer."""


def small_layers(kind: Kind) -> Iterator[tuple[Small, list[SpatialProblem]]]:
    """Layers with few mappings, and all of their spatial mappings."""
    found = seed = 0
    while found < WANTED:
        seed += 1
        small = seeded_problem(kind, seed, MOST_MAPPINGS // FEWEST)
        try:
            candidates = AllSpatialMappingsStage()(small.spatial.problem)
        except InputError:  # the user's order cannot be satisfied with any spatial mapping
            continue
        every = [candidates[rank] for rank in range(len(candidates))]
        if len(every) >= FEWEST and sum(map(count_mappings, every)) <= MOST_MAPPINGS:
            found += 1
            yield small, every


@pytest.mark.parametrize("kind", [x for x in Kind if x is not Kind.PINNED])  # pins all but one
def test_the_default_search_finds_what_brute_force_over_all_spatial_mappings_finds(
    kind: Kind,
) -> None:
    for small, every in small_layers(kind):
        problem = small.spatial.problem
        known = [truth(spatial, small.mapping_type) for spatial in every]
        search = ExactStage(mapping_type=small.mapping_type)
        for objective in Objective:
            least = min((x.optima[objective] for x in known if x.optima), default=None)
            assert optimum(problem, search, objective) == least, problem
        assert front(problem, search) == pareto({point for x in known for point in x.front})


def optimum(problem: MappingProblem, search: ExactStage, objective: Objective) -> float | None:
    """What an exploration finds, and proves; ``None`` if no mapping fits."""
    best = best_stage(SearchPlan(objective=objective, search=search))(problem)
    assert best.statistics.unproven == 0
    if not len(best):
        return None
    value, bounds = float(best.values(objective)[0]), best.statistics.bounds
    assert bounds is not None
    assert bounds.of(objective) == pytest.approx(value, rel=1e-9)
    return value


def front(problem: MappingProblem, search: ExactStage) -> frozenset[Point]:
    """The costs on the front of an exploration."""
    walk = ExactWalkStage(search.for_fronts(Objective.EDP))
    found = pareto_front(walk([AllSpatialMappingsStage()(problem)]))
    return frozenset((float(x.energy[0]), float(x.latency2[0])) for x in found.rows)
