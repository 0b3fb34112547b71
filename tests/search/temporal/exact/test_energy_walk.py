"""The walk for the least energy beside an exact search of every row."""

from __future__ import annotations

from itertools import pairwise
from math import inf

import numpy as np
import pytest

from nestmap.costmodel.flatten import flatten
from nestmap.model import MappingProblem, MappingType, Objective
from nestmap.model.base import copy_with
from nestmap.search.spatial.all_mappings import SpatialCandidates, all_spatial_mappings
from nestmap.search.spatial.lower_bounds import lower_bounds
from nestmap.search.spatial.unrolling_table import UnrollingTable
from nestmap.search.temporal.exact import energy_walk
from nestmap.search.temporal.exact.effort import Effort
from nestmap.search.temporal.exact.energy_walk import (
    EnergyWalk,
    bounds_of_rows,
    has_order,
    least_energy_of,
    row_table,
)
from nestmap.search.temporal.exact.search import ExactOptions, SearchTask, exact
from nestmap.search.temporal.exact.space import origin_bound, prepare
from nestmap.search.temporal.ordering import pinned_orders
from tests.search.temporal.exact.oracle import least
from tests.search.temporal.exact.problems import Kind, seeded_problem

SEEDS = 12
MOST_ROWS = 60
ROUNDING = 1e-12
ENOUGH = 10**12
"""Labels that no walk makes."""

OPTIONS = {kind: ExactOptions(mapping_type=kind) for kind in MappingType}


@pytest.mark.parametrize(
    "kind",
    [
        Kind.PLAIN,
        Kind.EVEN,
        Kind.LEAKING,
        Kind.IMC,
        Kind.FREE_SUMS,
        Kind.STRICT_PORTS,
        Kind.WINDOWS,
        Kind.ZEROS,
    ],
)
def test_the_rows_lead_to_the_optimum_of_all_rows(kind: Kind) -> None:
    for seed in range(SEEDS):
        small = seeded_problem(kind, seed, 2000)
        candidates = candidates_of(small.spatial.problem)
        if len(candidates) > MOST_ROWS:
            continue
        options = ExactOptions(mapping_type=small.mapping_type)
        every = [least_energy(candidates, row, options) for row in range(len(candidates))]
        rows = walk(candidates, inf, options)
        energies = [every[row] for row in rows]
        assert all(b < a * (1 + ROUNDING) for a, b in pairwise(energies))
        assert min(energies, default=inf) == pytest.approx(min(every), rel=ROUNDING)
        assert len(set(rows)) == len(rows)
        assert walk(candidates, inf, copy_with(options, {"workers": 2})) == rows
        if min(every) < inf:
            assert not walk(candidates, min(every) * (1 - ROUNDING), options)


@pytest.mark.parametrize("kind", Kind)
def test_bounds_of_rows_are_those_of_the_search(kind: Kind) -> None:
    for seed in range(SEEDS):
        small = seeded_problem(kind, seed, 2000)
        candidates = candidates_of(small.spatial.problem)
        rows = np.arange(0, len(candidates), max(1, len(candidates) // 8))
        table = row_table(candidates)
        found = bounds_of_rows(candidates, table, rows, inf, small.mapping_type).tolist()
        for row, bound in zip(rows.tolist(), found, strict=True):
            spatial = candidates.spatial(row)
            cheap = float(table.bounds[row])
            assert cheap >= lower_bounds(spatial).energy
            if has_order(spatial.problem.constraints):
                assert bound == cheap
                continue
            way = next(pinned_orders(spatial, None))
            known = origin_bound(prepare(spatial, way, Objective.ENERGY, small.mapping_type))
            if flatten(spatial).leakage > 0:
                assert cheap <= bound <= max(cheap, known * (1 + ROUNDING))
            else:
                assert bound == max(cheap, known)


@pytest.mark.parametrize("kind", Kind)
def test_bounds_of_operands_are_below_all_mappings(kind: Kind) -> None:
    for seed in range(SEEDS):
        small = seeded_problem(kind, seed, 2000)
        mapping = small.spatial.spatial_mapping
        table = UnrollingTable.of(small.spatial.problem, [mapping])
        bound = row_table(SpatialCandidates(small.spatial.problem, table)).bounds[0]
        batches = exact(SearchTask(small.spatial), Objective.ENERGY, OPTIONS[small.mapping_type])
        energy = min(least(batch, Objective.ENERGY) for batch in batches)
        assert bound <= energy * (1 + ROUNDING)


def test_rows_that_a_limit_leaves_unproven_are_among_them() -> None:
    candidates = candidates_of(seeded_problem(Kind.PLAIN, 1, 2000).spatial.problem)
    rows = walk(candidates, inf, ExactOptions(labels=1))
    assert sorted(rows) == list(range(len(candidates)))


@pytest.mark.parametrize("work", [1_000, 10_000, ENOUGH])
@pytest.mark.parametrize("labels", [20, 60, ExactOptions().labels])
def test_rows_do_not_depend_on_the_number_of_workers(
    labels: int, work: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(energy_walk, "BLOCK", 1)
    for seed in range(SEEDS):
        candidates = candidates_of(seeded_problem(Kind.PLAIN, seed, 2000).spatial.problem)
        options = ExactOptions(labels=labels)
        one, *others = (
            walk(candidates, inf, copy_with(options, {"workers": workers}), work)
            for workers in (1, 2, 7)
        )
        assert others == [one, one]


EXACT = {Kind.PLAIN, Kind.IMC, Kind.FREE_SUMS, Kind.ZEROS, Kind.DATAFLOW, Kind.HOPS}
"""Kinds of which the kernels find the optimum."""


@pytest.mark.parametrize("kind", Kind)
def test_spatial_mappings_are_compared_by_their_optima(kind: Kind) -> None:
    for seed in range(SEEDS):
        small = seeded_problem(kind, seed, 2000)
        options = OPTIONS[small.mapping_type]
        candidates = candidates_of(small.spatial.problem)
        rows = range(0, len(candidates), max(1, len(candidates) // 8))
        found = least_energy_of([candidates.spatial(row) for row in rows], options)
        if kind not in EXACT:
            assert not len(found.may_have_it)
            continue
        every = np.array([least_energy(candidates, row, options) for row in rows])
        if every.min() in {0.0, inf}:  # nothing can be compared with limits that are shares of 0
            assert not len(found.may_have_it)
            continue
        assert found.energy == pytest.approx(every.min(), rel=ROUNDING)
        assert found.may_have_it.tolist() == (every <= every.min() * (1 + 1e-9)).tolist()


def test_spatial_mappings_on_which_a_limit_ends_the_comparison_are_not_compared() -> None:
    candidates = candidates_of(seeded_problem(Kind.PLAIN, 1, 2000).spatial.problem)
    problems = [candidates.spatial(row) for row in range(len(candidates))]
    assert not len(least_energy_of(problems, ExactOptions(labels=1)).may_have_it)


def candidates_of(problem: MappingProblem) -> SpatialCandidates:
    return all_spatial_mappings(problem, mixed=True)


def walk(
    candidates: SpatialCandidates, incumbent: float, options: ExactOptions, labels: int = ENOUGH
) -> list[int]:
    return list(EnergyWalk(candidates, incumbent, options, Effort(labels)).rows())


def test_a_walk_whose_effort_is_spent_counts_what_is_left() -> None:
    candidates = candidates_of(seeded_problem(Kind.PLAIN, 1, 2000).spatial.problem)
    whole = EnergyWalk(candidates, inf, ExactOptions(), Effort(ENOUGH))
    assert list(whole.rows())
    assert whole.left == 0 < whole.labels
    spent = EnergyWalk(candidates, inf, ExactOptions(), Effort(0))
    assert not list(spent.rows())
    assert spent.left == len(candidates)


def least_energy(candidates: SpatialCandidates, row: int, options: ExactOptions) -> float:
    task = SearchTask(candidates.spatial(row))
    batches = exact(task, Objective.ENERGY, options)
    return min(least(batch, Objective.ENERGY) for batch in batches)
