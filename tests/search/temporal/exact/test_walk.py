"""The walk over all spatial mappings beside an exact search of every row."""

from collections.abc import Iterable
from math import inf

import numpy as np
import pytest

from nestmap.costmodel.flatten import flatten_problem
from nestmap.costmodel.kernel.record import copy_record
from nestmap.model import Counting, MappingProblem, MappingType, Objective
from nestmap.model.arrays import Floats
from nestmap.model.base import copy_with
from nestmap.search.spatial.all_mappings import SpatialCandidates, all_spatial_mappings
from nestmap.search.spatial.lower_bounds import lower_bounds
from nestmap.search.spatial.unrolling_table import UnrollingTable
from nestmap.search.temporal.exact import walk as walks
from nestmap.search.temporal.exact.effort import Effort
from nestmap.search.temporal.exact.incumbents import Costs, Incumbents
from nestmap.search.temporal.exact.objective_bound import goal_of
from nestmap.search.temporal.exact.rows import bound_row
from nestmap.search.temporal.exact.search import ExactOptions, SearchTask, exact
from nestmap.search.temporal.exact.space import is_too_large, origin_bound, prepare
from nestmap.search.temporal.exact.walk import (
    Walk,
    WalkState,
    has_order,
    least_energy_of,
    row_table,
)
from nestmap.search.temporal.ordering import pinned_orders
from tests.search.temporal.exact.oracle import least
from tests.search.temporal.exact.problems import Kind, seeded_problem

SEEDS = 6
MOST_ROWS = 40
MOST_MAPPINGS = 1000
ROUNDING = 1e-12
ENOUGH = 10**12
"""Labels that no walk makes."""

ENERGY = Incumbents(Objective.ENERGY)

OPTIONS = {kind: ExactOptions(mapping_type=kind) for kind in MappingType}


@pytest.mark.parametrize("counting", Counting)
@pytest.mark.parametrize("objective", Objective)
@pytest.mark.parametrize("kind", [x for x in Kind if x not in (Kind.ORDERED, Kind.PINNED)])
def test_the_rows_lead_to_the_optimum_of_all_rows(
    kind: Kind, objective: Objective, counting: Counting
) -> None:
    for seed in range(SEEDS):
        small = seeded_problem(kind, seed, MOST_MAPPINGS, counting)
        candidates = candidates_of(small.spatial.problem)
        if len(candidates) > MOST_ROWS:
            continue
        options = ExactOptions(mapping_type=small.mapping_type)
        every = [optimum(candidates, row, objective, options) for row in range(len(candidates))]
        rows = walk(candidates, Incumbents(objective), options)
        values = [every[row] for row in rows]
        least = min(every)
        assert min(values, default=inf) == pytest.approx(least, rel=ROUNDING)
        assert len(set(rows)) == len(rows)
        two = copy_with(options, {"workers": 2})
        assert walk(candidates, Incumbents(objective), two) == rows
        if 0 < least < inf:
            below = Incumbents(objective, (costs_of(objective, least * (1 - 1e-9)),))
            assert not walk(candidates, below, options)


@pytest.mark.parametrize("kind", [x for x in Kind if x not in (Kind.ORDERED, Kind.PINNED)])
def test_the_rows_lead_to_the_front_of_all_rows(kind: Kind) -> None:
    for seed in range(SEEDS):
        small = seeded_problem(kind, seed, MOST_MAPPINGS)
        candidates = candidates_of(small.spatial.problem)
        if len(candidates) > MOST_ROWS:
            continue
        options = ExactOptions(mapping_type=small.mapping_type)
        every = front(candidates, range(len(candidates)), options)
        found = front(candidates, walk(candidates, Incumbents(None), options), options)
        assert found.costs == every.costs
        assert not walk(candidates, every, options)


@pytest.mark.parametrize("objective", [*Objective, None])
@pytest.mark.parametrize("kind", Kind)
def test_bounds_of_rows_are_those_of_the_search(kind: Kind, objective: Objective | None) -> None:
    known = Incumbents(objective)
    for seed in range(SEEDS):
        small = seeded_problem(kind, seed, MOST_MAPPINGS)
        candidates, options = candidates_of(small.spatial.problem), OPTIONS[small.mapping_type]
        if has_order(candidates.problem.constraints):
            continue
        rows = np.arange(0, len(candidates), max(1, len(candidates) // 8))
        table = row_table(candidates, known)
        for row in rows.tolist():
            flat = copy_record(flatten_problem(candidates.problem))
            bound, _ = bound_row(flat, table, row, known, options)
            spatial = candidates.spatial(row)
            cheap = lower_bounds(spatial)
            way = next(pinned_orders(spatial, None))
            goal = goal_of(known, small.mapping_type)
            assert not is_too_large(spatial, way, goal)
            assert bound >= cheap.of(objective or Objective.EDP)
            assert bound >= origin_bound(prepare(spatial, way, goal).space)
            if objective is not None and bound < inf:
                assert bound <= optimum(candidates, row, objective, options) * (1 + ROUNDING)


@pytest.mark.parametrize("kind", Kind)
def test_bounds_of_operands_are_below_all_mappings(kind: Kind) -> None:
    for seed in range(SEEDS):
        small = seeded_problem(kind, seed, MOST_MAPPINGS)
        mapping = small.spatial.spatial_mapping
        table = UnrollingTable.of(small.spatial.problem, [mapping])
        alone = SpatialCandidates(small.spatial.problem, table)
        bound = row_table(alone, ENERGY).energy[0]
        batches = exact(SearchTask(small.spatial), Objective.ENERGY, OPTIONS[small.mapping_type])
        energy = min(least(batch, Objective.ENERGY) for batch in batches)
        assert bound <= energy * (1 + ROUNDING)


@pytest.mark.parametrize("objective", [*Objective, None])
def test_rows_on_which_a_limit_ends_the_search_are_unproven(objective: Objective | None) -> None:
    candidates = candidates_of(seeded_problem(Kind.PLAIN, 1, 2000).spatial.problem)
    known, unproven = Incumbents(objective), list[int]()
    for labels in (1, 30, ExactOptions().labels):
        one = Walk(candidates, known, ExactOptions(labels=labels), Effort(ENOUGH))
        assert all(
            limit in (1, labels // 50, labels * 2 // 5, 4 * labels) for _, limit in one.rows()
        )
        unproven.append(one.unproven)
    assert unproven[0] > unproven[-1] == 0
    assert unproven == sorted(unproven, reverse=True)


@pytest.mark.parametrize("work", [1_000, 10_000, ENOUGH])
@pytest.mark.parametrize("labels", [20, 60, ExactOptions().labels])
def test_rows_do_not_depend_on_the_number_of_workers(
    labels: int, work: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(walks, "BLOCK", 1)
    for seed in range(SEEDS):
        candidates = candidates_of(seeded_problem(Kind.PLAIN, seed, 2000).spatial.problem)
        options = ExactOptions(labels=labels)
        one, *others = (
            walk(candidates, ENERGY, copy_with(options, {"workers": workers}), work)
            for workers in (1, 2, 7)
        )
        assert others == [one, one]


EXACT = {Kind.PLAIN, Kind.IMC, Kind.FREE_SUMS, Kind.ZEROS, Kind.DATAFLOW, Kind.HOPS}
"""Kinds of which the kernels find the optimum."""


@pytest.mark.parametrize("kind", Kind)
def test_spatial_mappings_are_compared_by_their_optima(kind: Kind) -> None:
    for seed in range(SEEDS):
        small = seeded_problem(kind, seed, MOST_MAPPINGS)
        options = OPTIONS[small.mapping_type]
        candidates = candidates_of(small.spatial.problem)
        rows = range(0, len(candidates), max(1, len(candidates) // 8))
        found = least_energy_of([candidates.spatial(row) for row in rows], options)
        if kind not in EXACT:
            assert not len(found.may_have_it)
            continue
        every = np.array([optimum(candidates, row, Objective.ENERGY, options) for row in rows])
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
    candidates: SpatialCandidates, known: Incumbents, options: ExactOptions, labels: int = ENOUGH
) -> list[int]:
    return [row for row, _ in Walk(candidates, known, options, Effort(labels)).rows()]


@pytest.mark.parametrize("objective", [*Objective, None])
def test_a_walk_whose_effort_is_spent_counts_and_bounds_what_is_left(
    objective: Objective | None,
) -> None:
    candidates = candidates_of(seeded_problem(Kind.PLAIN, 1, 2000).spatial.problem)
    whole = Walk(candidates, Incumbents(objective), ExactOptions(), Effort(ENOUGH))
    assert list(whole.rows())
    assert whole.unproven == 0 < whole.labels
    if objective is not None:
        every = [optimum(candidates, x, objective, ExactOptions()) for x in range(len(candidates))]
        assert whole.bound == pytest.approx(min(every), rel=ROUNDING)
    spent = Walk(candidates, Incumbents(objective), ExactOptions(), Effort(0))
    assert not list(spent.rows())
    assert spent.unproven == len(candidates)
    is_searched = objective is Objective.ENERGY
    table = row_table(candidates, Incumbents(objective), is_searched)
    assert spent.bound == spent_bound(objective, table.energy, table.latency)


def spent_bound(objective: Objective | None, energy: Floats, latency: Floats) -> float:
    return float((objective or Objective.EDP).value_of(energy, latency).min())


def optimum(
    candidates: SpatialCandidates, row: int, objective: Objective, options: ExactOptions
) -> float:
    batches = exact(SearchTask(candidates.spatial(row)), objective, options)
    return min(least(batch, objective) for batch in batches)


def front(candidates: SpatialCandidates, rows: Iterable[int], options: ExactOptions) -> Incumbents:
    found = Incumbents(None)
    for row in rows:
        for batch in exact(SearchTask(candidates.spatial(row)), None, options):
            found = found.with_batch(batch)
    return found


def costs_of(objective: Objective, value: float) -> Costs:
    """Costs of this value."""
    match objective:
        case Objective.ENERGY:
            return value, inf
        case Objective.LATENCY:
            return inf, value
        case Objective.EDP:
            return value, 1.0


@pytest.mark.parametrize("objective", [*Objective, None])
def test_a_walk_tells_how_far_it_is(
    objective: Objective | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(walks, "BLOCK", 1)
    options, left = ExactOptions(labels=20), list[int]()
    for seed in range(SEEDS):
        candidates = candidates_of(seeded_problem(Kind.PLAIN, seed, MOST_MAPPINGS).spatial.problem)
        told, effort = list[WalkState](), Effort(1_000_000)
        one = Walk(candidates, Incumbents(objective), options, effort, told.append)
        if not list(one.rows()):
            continue
        assert told[-1].left == one.unproven
        assert 0 < told[-1].work < 1
        assert [x.work for x in told] == sorted(x.work for x in told)
        assert all(max(x.done, x.left) <= len(candidates) for x in told)
        left += [x.left for x in told]
        if objective is None:
            assert all(x.best is None and x.gap is None for x in told)
            continue
        found = [(np.array(x.best)[:, None], x.gap) for x in told if x.best is not None]
        values = [objective.value_of(*best)[0] for best, _ in found]
        assert values == sorted(values, reverse=True)
        for value, (_, gap) in zip(values, found, strict=True):
            assert gap is not None
            assert value * (1 - gap) <= values[-1] * (1 + ROUNDING)
    assert max(left) > 0


def test_the_gap_of_a_walk_is_that_to_the_best_mapping() -> None:
    candidates, told = (
        candidates_of(seeded_problem(Kind.PLAIN, 1, 2000).spatial.problem),
        list[WalkState](),
    )
    options = ExactOptions(gap=30)
    known = options.nothing_known(Objective.LATENCY)
    one = Walk(candidates, known, options, Effort(ENOUGH), told.append)
    assert list(one.rows())
    assert one.unproven == 0
    assert told[-1].gap == pytest.approx(0.3)  # all that is proven
