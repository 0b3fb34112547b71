"""The least energy of each spatial mapping beside an exact search of it, and its bounds."""

from collections.abc import Iterator
from contextlib import suppress
from math import inf

import numpy as np
import pytest

from nestmap.costmodel.flat_problem import FlatProblem
from nestmap.costmodel.flatten import flatten_problem
from nestmap.costmodel.kernel.record import copy_record, new_record
from nestmap.costmodel.kernel.work import Work
from nestmap.model import Counting, Objective
from nestmap.model.arrays import Floats
from nestmap.search.spatial.all_mappings import SpatialCandidates, all_spatial_mappings
from nestmap.search.spatial.dataflow import NoUnrollingError
from nestmap.search.spatial.unrolling_table import UnrollingTable, array_energies
from nestmap.search.temporal.exact.least_energy import least_energies
from nestmap.search.temporal.exact.operand_bounds import compulsory_energies, operand_energies
from nestmap.search.temporal.exact.rows import RowTable
from nestmap.search.temporal.exact.search import ExactOptions, SearchTask, exact
from nestmap.search.temporal.exact.space import reuses_windows
from tests.search.temporal.exact.oracle import least
from tests.search.temporal.exact.problems import Kind, seeded_problem
from tests.sweeps import STRESS

SEEDS = 300 if STRESS else 12
MOST_MAPPINGS = 1000
LABELS = 100_000
ROUNDING = 1e-12

KINDS = (Kind.PLAIN, Kind.IMC, Kind.FREE_SUMS, Kind.ZEROS, Kind.DATAFLOW, Kind.HOPS)
"""Kinds of which kernels find the optimum."""


@pytest.mark.parametrize("counting", Counting)
@pytest.mark.parametrize("kind", KINDS)
def test_least_energies_are_those_of_the_exact_search(kind: Kind, counting: Counting) -> None:
    found = 0
    for seed, candidates in every_candidate(kind, counting):
        problem, table = candidates.problem, candidates.table
        none = np.zeros(len(candidates))
        rows = RowTable(*table, array_energies(problem, table), none, none)
        for row in range(0, len(candidates), max(1, len(candidates) // 6)):
            batches = exact(SearchTask(candidates.spatial(row)), Objective.ENERGY, ExactOptions())
            optimum = min(least(batch, Objective.ENERGY) for batch in batches)
            assert candidates.bounds.energy[row] <= optimum * (1 + ROUNDING), (seed, row)
            for limit in (inf, optimum * (1 + 1e-9), optimum * (1 - 1e-9)):
                energies, _ = least_energies(
                    copy_record(flatten_problem(problem)),
                    new_record(Work),
                    rows,
                    np.array([row]),
                    (limit, LABELS),
                )
                expected = optimum if optimum < limit else inf
                assert energies[0] == pytest.approx(expected, rel=ROUNDING), (seed, row)
            found += optimum < inf
    assert found > SEEDS


@pytest.mark.parametrize("kind", Kind)
def test_compulsory_energies_are_not_above_those_of_the_tables(kind: Kind) -> None:
    for seed, candidates in every_candidate(kind, Counting.EXACT):
        if reuses_windows(candidates.problem):  # tables bound what slides from below
            continue
        table, flat = candidates.table, flatten_problem(candidates.problem)
        compulsory, _ = compulsory_energies(copy_record(flat), new_record(Work), *table)
        for x, energies in enumerate(compulsory):
            assert (energies <= tables_of(flat, table, x) * (1 + ROUNDING)).all(), (seed, x)
            assert (energies[:, 0] >= energies[:, 1] * (1 - ROUNDING)).all()


@pytest.mark.parametrize(("kind", "seed"), [(Kind.IMC, 137), (Kind.DATAFLOW, 294)])
def test_small_tiles_may_share_more_words_along_an_index(kind: Kind, seed: int) -> None:
    problem = seeded_problem(kind, seed, MOST_MAPPINGS, Counting.EXACT).spatial.problem
    candidates = all_spatial_mappings(problem, mixed=True)
    table, none = candidates.table, np.zeros(len(candidates))
    rows = RowTable(*table, array_energies(problem, table), none, none)
    every, flat = np.arange(len(candidates)), copy_record(flatten_problem(problem))
    for row in every:
        energies, _ = least_energies(flat, new_record(Work), rows, every[row:][:1], (inf, LABELS))
        assert candidates.bounds.energy[row] <= energies[0] * (1 + ROUNDING)


def test_a_port_may_be_busy_for_less_where_units_share_words_along_an_index() -> None:
    problem = seeded_problem(Kind.IMC, 137, MOST_MAPPINGS, Counting.EXACT).spatial.problem
    candidates, row = all_spatial_mappings(problem, mixed=True), 568
    batches = exact(SearchTask(candidates.spatial(row)), Objective.LATENCY, ExactOptions())
    latency = min(least(batch, Objective.LATENCY) for batch in batches)
    assert candidates.bounds.latency[row] <= latency


@pytest.mark.parametrize("kind", sorted(set(Kind) - {Kind.ORDERED, Kind.PINNED}))
def test_bounds_are_not_above_the_optima_of_rows(kind: Kind) -> None:
    for seed in range(SEEDS // 6):
        small = seeded_problem(kind, seed, MOST_MAPPINGS, Counting.EXACT)
        options = ExactOptions(mapping_type=small.mapping_type)
        with suppress(NoUnrollingError):
            candidates = all_spatial_mappings(small.spatial.problem, mixed=True)
            for row in range(0, len(candidates), max(1, len(candidates) // 8)):
                for objective in (Objective.ENERGY, Objective.LATENCY):
                    batches = exact(SearchTask(candidates.spatial(row)), objective, options)
                    optimum = min((least(x, objective) for x in batches), default=inf)
                    bound = candidates.bounds.of(objective)[row]
                    assert bound <= optimum * (1 + ROUNDING), (seed, row, objective)


def every_candidate(kind: Kind, counting: Counting) -> Iterator[tuple[int, SpatialCandidates]]:
    for seed in range(SEEDS):
        problem = seeded_problem(kind, seed, MOST_MAPPINGS, counting).spatial.problem
        with suppress(NoUnrollingError):  # a dataflow may have no spatial mapping
            yield seed, all_spatial_mappings(problem, mixed=True)


def tables_of(flat: FlatProblem, table: UnrollingTable, x: int) -> Floats:
    every = np.arange(len(table.first) - 1)
    return operand_energies(copy_record(flat), new_record(Work), *table, x, every)
