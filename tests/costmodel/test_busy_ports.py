"""Busy ports: their cycles against the simulator, and latencies that are at least as long."""

from collections import Counter
from math import prod

import numpy as np
from hypothesis import given, settings

from nestmap.costmodel.evaluate import evaluate, evaluate_batch
from nestmap.model import CostModelEvaluation, Counting, MappingType
from nestmap.model.base import copy_with
from nestmap.search import loma
from nestmap.search.spatial.lower_bounds import lower_bounds
from tests.costmodel.machines import convolution, machine, mapped, ordered
from tests.properties.variants import with_accelerator
from tests.simulator import simulate
from tests.strategies import Case, evaluated_cases
from tests.sweeps import some_of
from tests.tiny_cases import memory, tiny_cases


def strict(case: Case) -> Case:
    """The case on an accelerator whose ports do one thing at a time."""
    problem = case.spatial.problem
    accelerator = copy_with(problem.accelerator, {"strict_ports": True})
    changed = copy_with(problem, {"accelerator": accelerator})
    return Case(copy_with(case.spatial, {"problem": changed}), case.temporal)


def busiest(cme: CostModelEvaluation) -> int:
    """The cycles of the busiest port."""
    return max(port.busy or 0 for port in cme.port_stalls)


@settings(max_examples=some_of(400), deadline=None)
@given(tiny_cases())
def test_a_port_is_busy_for_a_cycle_a_word_counted_cycle_by_cycle(case: Case) -> None:
    traffic, cme = simulate(case.spatial, case.temporal), evaluate(case.spatial, case.temporal)
    words: Counter[str] = Counter()
    for level in cme.levels:
        words[level.memory] += sum(traffic.as_reference(level.operand, level.level))
    mapping = case.spatial.spatial_mapping
    sides = {u.array_dimension: prod(loop.size for loop in u.loops) for u in mapping.unrollings}
    found = {port.memory: port.busy for port in cme.port_stalls}
    for memory_level in case.spatial.accelerator.memories:
        if memory_level.name in words:
            instances = prod(
                size for side, size in sides.items() if side not in memory_level.served_dimensions
            )
            assert found[memory_level.name] == words[memory_level.name] / instances


@settings(max_examples=some_of(400), deadline=None)
@given(evaluated_cases())
def test_latency_is_at_least_what_each_port_is_busy(case: Case) -> None:
    before = evaluate(case.spatial, case.temporal)
    case = strict(case)
    after = evaluate(case.spatial, case.temporal)
    least = max(before.latency, busiest(before))
    assert least <= after.latency < least + 1
    assert after.overloaded_port is None
    assert after.dynamic_energy == before.dynamic_energy
    assert [port.busy for port in after.port_stalls] == [port.busy for port in before.port_stalls]
    assert after.stall == max(0, *(port.stall for port in after.port_stalls))
    if before.overloaded_port is None:
        assert after == before
    assert lower_bounds(case.spatial).latency <= after.latency


WEIGHTS, INPUTS = memory("weights", ("I2",), ()), memory("inputs", ("I1",), ())
SHARED = machine(WEIGHTS, INPUTS, memory("top", ("I1", "I2", "O"), ("D1",))).counted(
    Counting.REFERENCE
)
BOTH = mapped(convolution({"K": 8, "C": 8, "OX": 2, "FX": 1}), SHARED)
KEPT = Case(BOTH, ordered("OX 2 C 8 K 8", {"O": (3,), "W": (3, 3), "I": (3, 3)}))


def test_loads_that_overlap_on_a_port_take_longer_where_ports_are_strict() -> None:
    """The port of the top memory loads 64 weights and 16 inputs, and moves sums in each cycle."""
    case = strict(KEPT)
    loose, tight = (evaluate(x.spatial, x.temporal) for x in (KEPT, case))
    overloaded = loose.overloaded_port
    assert overloaded is not None
    assert overloaded.memory == "top"
    assert loose.latency < tight.latency == overloaded.busy
    exact = KEPT.spatial.accelerator.counted(Counting.EXACT)
    assert evaluate(with_accelerator(KEPT.spatial, exact), KEPT.temporal).latency == tight.latency


def test_rows_of_a_batch_are_those_of_single_mappings() -> None:
    """What a row keeps of the row before does not hide that its ports are busy for longer."""
    spatial = strict(KEPT).spatial
    for mappings in loma(spatial, None, MappingType.UNEVEN):
        batch = evaluate_batch(mappings)
        single = [evaluate(spatial, mappings.row(i)).latency for i in range(len(batch))]
        assert np.array_equal(batch.latency2, single)
