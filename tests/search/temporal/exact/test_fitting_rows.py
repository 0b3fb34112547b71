"""Spatial mappings that are left out because nothing fits, beside brute force over the others."""

from collections import Counter

import numpy as np
import pytest

from nestmap.search.spatial.all_mappings import SpatialCandidates, all_spatial_mappings
from nestmap.search.spatial.unrolling_table import UnrollingTable
from nestmap.search.temporal.exact.fitting_rows import rows_that_may_fit
from nestmap.search.temporal.exact.search import ExactOptions, SearchTask, exact
from tests.search.temporal.exact.oracle import truth
from tests.search.temporal.exact.problems import Kind, Small, seeded_problem

SEEDS = 100
MOST_ROWS = 40


@pytest.mark.parametrize("kind", Kind)
def test_no_spatial_mapping_with_a_temporal_one_that_fits_is_left_out(kind: Kind) -> None:
    found: Counter[tuple[bool, bool]] = Counter()
    for seed in range(SEEDS):
        small = seeded_problem(kind, seed, 2000)
        fits = truth(small.spatial, small.mapping_type).fitting > 0
        may_fit = bool(rows_that_may_fit(alone(small))[0])
        assert may_fit or not fits, seed
        found[fits, may_fit] += 1
    assert found[True, True]
    assert found[False, False]


def test_of_all_spatial_mappings_those_with_a_mapping_stay() -> None:
    left_out = 0
    for seed in range(20):
        candidates = all_spatial_mappings(seeded_problem(Kind.PLAIN, seed, 500).spatial.problem)
        may_fit = rows_that_may_fit(candidates).tolist()
        for row in range(min(MOST_ROWS, len(candidates))):
            batches = exact(SearchTask(candidates.spatial(row)), None, ExactOptions())
            assert may_fit[row] or not any(map(len, batches)), (seed, row)
        left_out += may_fit.count(False)
        kept = candidates.take(np.flatnonzero(rows_that_may_fit(candidates)))
        stays = [row for row, stay in enumerate(may_fit) if stay]
        assert [kept.mapping(i) for i in range(len(kept))] == [*map(candidates.mapping, stays)]
    assert left_out


def alone(small: Small) -> SpatialCandidates:
    """A table with the spatial mapping of the problem only."""
    problem = small.spatial.problem
    return SpatialCandidates(problem, UnrollingTable.of(problem, [small.spatial.spatial_mapping]))
