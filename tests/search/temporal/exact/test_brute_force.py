"""The exact search beside brute force: all orders of all primes with all cuts that fit.

Problems are numbered, so that a failure names one: ``seeded_problem(Kind.EVEN, 17, 100_000)``.
``make stress`` (``NESTMAP_STRESS=1``) takes thousands of them, and larger ones.
"""

from collections.abc import Sequence
from math import isclose

import numpy as np
import pytest
from hypothesis import given

from nestmap.costmodel.evaluate import evaluate, evaluate_batch
from nestmap.model import Counting, EvaluationBatch, Loop, Objective, SpatialProblem
from nestmap.search import best_of
from nestmap.search.temporal.exact.search import ExactOptions, SearchTask, exact
from nestmap.search.temporal.ordering import pinned_orders
from nestmap.search.temporal.pinned import place_pinned_levels
from tests.properties.variants import few_examples, with_accelerator
from tests.search.temporal.exact.oracle import Truth, feasible, least, pareto, points, truth
from tests.search.temporal.exact.problems import Kind, Small, seeded_problem, small_problems
from tests.search.temporal.exact.random_machines import free
from tests.sweeps import STRESS

SEEDS = 1200 if STRESS else 20
"""Problems of each kind."""

MOST_MAPPINGS = 400_000 if STRESS else 100_000
LABELS = 200_000
"""Partial mappings that a search may follow: enough to prove the optimum of all problems."""

BLOCK = 20
"""Problems of one test: one each would take longer to collect than to solve."""

PROVEN = 1e-9
"""Bounds add in another order than the cost model: so far may they be off, relative."""


@pytest.mark.parametrize("first", range(0, SEEDS, BLOCK))
@pytest.mark.parametrize("kind", Kind)
@pytest.mark.parametrize("counting", Counting)
def test_optima_and_fronts_are_those_of_brute_force(
    counting: Counting, kind: Kind, first: int
) -> None:
    for seed in range(first, first + BLOCK):
        try:
            check(seeded_problem(kind, seed, MOST_MAPPINGS, counting))
        except Exception as error:
            error.add_note(f"seeded_problem(Kind.{kind.name}, {seed}, {MOST_MAPPINGS}, {counting})")
            raise


@pytest.mark.parametrize(("kind", "seed"), [(Kind.LEAKING, 29), (Kind.FREE_SUMS, 696)])
def test_a_port_may_be_busy_for_less_than_with_all_loops_below(kind: Kind, seed: int) -> None:
    # two units at a loop of 25 in tiles of 2: the first has 13 of them, but 14 in one large tile
    check(seeded_problem(kind, seed, 400_000, Counting.EXACT))


def test_they_are_if_nothing_takes_energy() -> None:
    for seed in range(SEEDS):
        small = seeded_problem(Kind.PLAIN, seed, 2000)
        accelerator = free(small.spatial.accelerator)
        check(Small(with_accelerator(small.spatial, accelerator), small.mapping_type))


@pytest.mark.parametrize("kind", [Kind.PLAIN, Kind.LEAKING, Kind.IMC, Kind.EVEN])
def test_of_small_problems_no_mapping_is_as_fast_with_less_energy(kind: Kind) -> None:
    for seed in range(SEEDS):
        small = seeded_problem(kind, seed, 2000)
        expected = truth(small.spatial, small.mapping_type)
        options = ExactOptions(mapping_type=small.mapping_type, labels=LABELS)
        best = best_of(
            exact(SearchTask(small.spatial), Objective.LATENCY, options), Objective.LATENCY
        )
        found = [(float(x), float(y)) for x, y in zip(best.energy, best.latency2, strict=True)]
        assert found == sorted(expected.front, key=lambda costs: costs[1])[:1], seed


@few_examples
@given(small_problems())
def test_they_are_for_any_problem(small: Small) -> None:
    check(small)


def check(small: Small) -> None:
    """Compares the optimum of each objective, and the front."""
    expected = truth(small.spatial, small.mapping_type)
    task, options = (
        SearchTask(small.spatial),
        ExactOptions(mapping_type=small.mapping_type, labels=LABELS),
    )
    for objective in Objective:
        batches = list(exact(task, objective, options))
        check_rows(small, batches)
        check_reasons(batches, expected)
        if expected.fitting:
            check_optimum(small.spatial, batches, objective, expected)
    batches = list(exact(task, None, options))
    check_rows(small, batches)
    check_reasons(batches, expected)
    assert pareto({x for batch in batches for x in points(batch)}) == expected.front


def check_reasons(batches: Sequence[EvaluationBatch], expected: Truth) -> None:
    """There are rows, or there are reasons why there are none."""
    assert any(map(len, batches)) == (expected.fitting > 0)
    if not expected.fitting:
        assert any(batch.statistics.infeasible for batch in batches)


def check_optimum(
    spatial: SpatialProblem,
    batches: Sequence[EvaluationBatch],
    objective: Objective,
    expected: Truth,
) -> None:
    """The best row, bit for bit, and the bound that says so."""
    best = best_of(batches, objective)
    optimum = expected.optima[objective]
    assert least(best, objective) == optimum, objective
    statistics = batches[-1].statistics
    assert statistics.bounds is not None
    bound = statistics.bounds.of(objective)
    assert bound <= optimum * (1 + PROVEN), objective
    assert statistics.unproven or isclose(bound, optimum, rel_tol=PROVEN), objective
    mapping = best.mappings.row(0)
    assert len(place_pinned_levels(spatial, mapping)) == 1
    assert meets_ordering(spatial, mapping.order)
    if spatial.accelerator.array.operation_cycles.is_integer():  # else a breakdown cuts stalls off
        assert isclose(objective.of(evaluate(spatial, mapping)), optimum, rel_tol=1e-12)


def check_rows(small: Small, batches: Sequence[EvaluationBatch]) -> None:
    """All rows fit, are even where they have to be, and cost what they claim."""
    for batch in batches:
        if len(batch):
            assert len(feasible(batch.mappings, small.mapping_type)) == len(batch)
            again = evaluate_batch(batch.mappings)
            for column in ("energy", "latency0", "latency1", "latency2"):
                assert np.array_equal(getattr(batch, column), getattr(again, column))


def meets_ordering(spatial: SpatialProblem, order: tuple[Loop, ...]) -> bool:
    """Whether the order is one of those that the user's ordering leaves."""
    return any(
        order[: len(way.inner)] == way.inner and order[len(order) - len(way.outer) :] == way.outer
        for way in pinned_orders(spatial, None)
    )
