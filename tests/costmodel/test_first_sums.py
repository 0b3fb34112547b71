"""Sums that begin without a read: exact counts, and never more than with the read."""

from hypothesis import given, settings

from nestmap.costmodel.evaluate import evaluate
from nestmap.model import Movement
from nestmap.model.base import copy_with
from tests.simulator import simulate
from tests.strategies import Case, evaluated_cases
from tests.sweeps import some_of
from tests.tiny_cases import tiny_cases


def free(case: Case) -> Case:
    """The case on an accelerator whose sums begin without a read."""
    problem = case.spatial.problem
    accelerator = copy_with(problem.accelerator, {"free_first_sum": True})
    changed = copy_with(problem, {"accelerator": accelerator})
    return Case(copy_with(case.spatial, {"problem": changed}), case.temporal)


@settings(max_examples=some_of(400), deadline=None)
@given(tiny_cases())
def test_accesses_are_those_counted_cycle_by_cycle(case: Case) -> None:
    traffic = simulate(case.spatial, case.temporal)
    case = free(case)
    for level in evaluate(case.spatial, case.temporal).levels:
        assert level.costs.accesses == traffic.without_zeros(level.operand, level.level)


@settings(max_examples=some_of(200), deadline=None)
@given(evaluated_cases())
def test_nothing_but_reads_of_sums_is_saved(case: Case) -> None:
    before = evaluate(case.spatial, case.temporal)
    case = free(case)
    after = evaluate(case.spatial, case.temporal)
    backward = (Movement.RD_TO_LOW, Movement.WR_BY_HIGH)
    for old, new in zip(before.levels, after.levels, strict=True):
        is_output = old.operand == case.spatial.layer.output.name
        for movement in Movement:
            was, now = old.costs.accesses_of(movement), new.costs.accesses_of(movement)
            assert now <= was if is_output and movement in backward else now == was
    assert after.dynamic_energy <= before.dynamic_energy
    assert after.latency0 <= before.latency0
