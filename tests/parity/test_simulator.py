"""The brute-force simulator, the reference and nestmap count the same accesses."""

from hypothesis import given, settings

from nestmap.costmodel.evaluate import evaluate
from tests.parity.reference import reference_evaluation
from tests.simulator import simulate
from tests.strategies import Case
from tests.sweeps import some_of
from tests.tiny_cases import tiny_cases


@settings(max_examples=some_of(100), deadline=None)
@given(tiny_cases())
def test_accesses_are_those_counted_cycle_by_cycle(case: Case) -> None:
    traffic = simulate(case.spatial, case.temporal)
    reference = reference_evaluation(case.spatial, case.temporal)
    cme = evaluate(case.spatial, case.temporal)
    for level in cme.levels:
        counted = traffic.as_reference(level.operand, level.level)
        assert reference.level(level.operand, level.level).accesses == counted
        assert level.costs.accesses == counted
