"""Proofs by constraint programming: what is proven is the best of all allocations."""

from collections.abc import Sequence
from itertools import product

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings

from nestmap.model.multicore.allocation import Allocation, Fitness, StreamBound
from nestmap.model.multicore.schedule import ScheduleProblem
from nestmap.search.multicore.allocation.cp_sat_model import Limits, Program, Relaxation
from nestmap.search.multicore.allocation.cp_sat_search import ConstraintOptions, prove
from nestmap.search.multicore.allocation.genetic import Evaluate
from nestmap.search.multicore.allocation.requirements import Requirements
from nestmap.search.multicore.schedule.evaluator import Evaluator
from tests.search.multicore.allocation.chains import problem
from tests.search.multicore.schedule.problems import Case, cases
from tests.sweeps import some_of

SLOW = (HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large)

PATTERN = ((0, 1), (0, 2), (1, 3), (2, 3), (3, 4))
"""Two ways that part and join, and one more layer."""


def random_problem(seed: int, cores: int = 2) -> ScheduleProblem:
    runtimes = np.random.default_rng(seed).integers(5, 40, size=(5, cores))
    return problem(runtimes.tolist(), PATTERN)


def everything(what: ScheduleProblem) -> list[Allocation]:
    return list(product(*(gene.cores for gene in what.space.groups)))


def least(fitnesses: Sequence[Fitness | None]) -> int | None:
    return min((x.latency for x in fitnesses if x is not None), default=None)


def latency_of(result: StreamBound) -> int | None:
    return None if result.best is None else least([result.best.fitness])


@settings(max_examples=some_of(12), deadline=None, suppress_health_check=SLOW)
@given(cases())
def test_what_is_proven_is_the_best_of_all(case: Case) -> None:
    _ = assume(1 < case.problem.space.size <= 48)
    evaluate = Evaluator(case.problem)
    result = prove(case.problem, evaluate)
    best = least(evaluate(everything(case.problem)))
    assert result.proven
    assert latency_of(result) == best
    assert best is None or result.bound == best


@pytest.mark.parametrize("seed", range(4))
def test_small_networks_on_three_cores_are_proven_by_few_schedules(seed: int) -> None:
    made = random_problem(seed, cores=3)
    evaluate = Evaluator(made)
    result = prove(made, evaluate)
    assert result.proven
    assert latency_of(result) == least(evaluate(everything(made)))
    assert result.gap == 0
    assert result.evaluations < made.space.size / 4


@pytest.mark.parametrize("seed", range(3))
def test_every_relaxation_is_below_the_best(seed: int) -> None:
    made = random_problem(seed)
    best = least(Evaluator(made)(everything(made)))
    assert best is not None
    bounds: dict[Relaxation, int] = {}
    for detail in (500, 1, 0):
        program = Program(Requirements(made), detail)
        bounds[program.relaxation] = program.solve(Limits(10.0, None, 0)).bound
    assert list(bounds) == [Relaxation.INTERVALS, Relaxation.PATHS, Relaxation.LOADS]
    assert best >= bounds[Relaxation.INTERVALS]
    assert bounds[Relaxation.INTERVALS] >= bounds[Relaxation.PATHS] >= bounds[Relaxation.LOADS]
    assert bounds[Relaxation.LOADS] > 0


@pytest.mark.parametrize("detail", [0, 1, 500])
def test_whatever_the_detail_the_proof_is_the_same(detail: int) -> None:
    made = random_problem(5)
    result = prove(made, Evaluator(made), ConstraintOptions(detail=detail))
    assert result.proven
    assert latency_of(result) == least(Evaluator(made)(everything(made)))


def slower(evaluate: Evaluate) -> Evaluate:
    """A scheduler that loses time, so that no relaxation comes close."""

    def late(allocations: Sequence[Allocation]) -> list[Fitness | None]:
        return [
            x and Fitness(latency=x.latency + 1000, energy=x.energy, memory=x.memory)
            for x in evaluate(allocations)
        ]

    return late


def test_the_result_does_not_depend_on_workers_and_is_always_the_same() -> None:
    made = random_problem(7)
    options = ConstraintOptions(max_evaluations=9)
    results = [prove(made, slower(Evaluator(made, x)), options) for x in (1, 1, 2)]
    assert results[0] == results[1] == results[2]


def test_a_spent_budget_leaves_a_gap() -> None:
    made = random_problem(7)
    result = prove(made, slower(Evaluator(made)), ConstraintOptions(max_evaluations=5))
    latency = latency_of(result)
    assert not result.proven
    assert result.evaluations == 5
    assert latency is not None
    assert result.bound < latency
    assert result.gap == pytest.approx((latency - result.bound) / latency)


@pytest.mark.parametrize(
    "options", [ConstraintOptions(work=1e-9), ConstraintOptions(time_limit=1e-9)]
)
def test_without_time_there_is_a_bound_and_what_it_began_with(options: ConstraintOptions) -> None:
    made = random_problem(7)
    begin = everything(made)[3]
    result = prove(made, slower(Evaluator(made)), options, seeds=[begin])
    assert result.best is not None
    assert not result.proven
    assert 0 < result.bound < (latency_of(result) or 0)


def test_all_allocations_are_gone_through_where_no_bound_helps() -> None:
    made = random_problem(7)
    result = prove(made, slower(Evaluator(made)))
    assert result.proven
    assert result.evaluations == made.space.size
    assert result.bound == latency_of(result)


def test_nothing_that_can_be_scheduled_is_proven_as_well() -> None:
    made = random_problem(2)
    result = prove(made, lambda allocations: [None] * len(allocations))
    assert result.best is None
    assert result.proven
    assert result.evaluations == made.space.size


def test_cores_without_costs_are_left_out() -> None:
    made = problem([[5, -1], [-1, 5]], [(0, 1)])
    result = prove(made, Evaluator(made))
    assert result.best is not None
    assert result.best.allocation == (0, 1)
    assert result.proven


def test_a_layer_that_no_core_can_run_leaves_nothing() -> None:
    made = problem([[5, 5], [-1, -1]], [(0, 1)])
    result = prove(made, lambda allocations: [None] * len(allocations))
    assert result.best is None
    assert result.proven
    assert result.evaluations == 0
