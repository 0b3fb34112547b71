"""Areas add up, leakage is linear in time, and neither counts a part twice."""

from math import prod

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nestmap.costmodel.area_leakage import areas_of, leakage_of, static_energies, total_area
from nestmap.costmodel.evaluate import evaluate
from nestmap.costmodel.vector_unit import evaluate_vector
from nestmap.model import (
    Accelerator,
    PartKind,
    TopLevel,
    VectorNode,
    VectorUnit,
    without_unused_levels,
)
from nestmap.model.base import copy_with
from tests.leaking import leaking, leaking_cases
from tests.properties.variants import examples
from tests.strategies import Case, accelerators
from tests.vectors import vector_nodes


@st.composite
def leaking_machines(draw: st.DrawFn) -> Accelerator:
    return draw(leaking(draw(accelerators())))


def sharing(machine: Accelerator, served: tuple[str, ...]) -> int:
    """Instances of a memory, counted from the description."""
    return prod(side.size for side in machine.array.sides if side.name not in served)


@examples
@given(accelerators())
def test_areas_are_those_of_all_instances(machine: Accelerator) -> None:
    units = prod(side.size for side in machine.array.sides) * machine.array.unit_area
    memories = {
        level.name: level.instance.area * sharing(machine, level.served_dimensions)
        for level in machine.memories
    }
    areas = areas_of(machine)
    assert {x.part: x.area for x in areas if x.kind is PartKind.MEMORY} == memories
    assert [x.area for x in areas if x.kind is PartKind.ARRAY] == [units]
    assert total_area(machine) == pytest.approx(units + sum(memories.values()))


@examples
@given(accelerators(), st.floats(0, 50))
def test_area_is_additive(machine: Accelerator, area: float) -> None:
    level = machine.memories[0]
    larger = copy_with(level.instance, {"area": level.instance.area + area})
    grown = copy_with(
        machine, {"memories": (copy_with(level, {"instance": larger}), *machine.memories[1:])}
    )
    more = area * machine.instances_of(level)
    assert total_area(grown) == pytest.approx(total_area(machine) + more)
    unit = VectorUnit(lanes=4, operation_energy=1.0, area=area)
    if machine.levels_of("O"):
        with_unit = copy_with(machine, {"vector_unit": unit})
        assert total_area(with_unit) == pytest.approx(total_area(machine) + area)


@examples
@given(leaking_machines(), st.floats(0, 1e9), st.integers(1, 9))
def test_leakage_is_linear_in_time(machine: Accelerator, cycles: float, times: int) -> None:
    once = [entry.energy for entry in static_energies(machine, cycles)]
    often = [entry.energy for entry in static_energies(machine, cycles * times)]
    assert often == pytest.approx([energy * times for energy in once])
    assert sum(once) == pytest.approx(leakage_of(machine) * cycles)


@examples
@given(leaking_cases())
def test_an_evaluation_includes_what_leaks_while_it_runs(case: Case) -> None:
    cme, machine = evaluate(case.spatial, case.temporal), case.spatial.accelerator
    period = machine.array.clock_period
    assert period is not None
    powers = machine.array.unit_leakage * machine.array.units + sum(
        level.instance.leakage * machine.instances_of(level) for level in machine.memories
    )
    expected = powers * period * cme.latency if machine.counts_leakage else 0.0
    assert cme.static_energy == pytest.approx(expected)
    assert cme.energy == cme.dynamic_energy + cme.static_energy
    assert sum(x.energy for x in cme.static_energies) == pytest.approx(cme.static_energy)
    without = copy_with(machine, {"counts_leakage": False})
    problem = copy_with(case.spatial.problem, {"accelerator": without})
    dynamic = evaluate(copy_with(case.spatial, {"problem": problem}), case.temporal)
    assert (dynamic.energy, dynamic.latency) == (cme.dynamic_energy, cme.latency)


@examples
@given(leaking_machines().filter(lambda x: x.vector_memory is not None), vector_nodes())
def test_a_vector_operator_includes_what_leaks_while_it_runs(
    machine: Accelerator, node: VectorNode
) -> None:
    entry = evaluate_vector(node, machine)
    assert entry.static_energy == pytest.approx(leakage_of(machine) * entry.latency)
    dynamic = evaluate_vector(node, copy_with(machine, {"counts_leakage": False}))
    assert entry.energy == dynamic.energy + entry.static_energy


@examples
@given(leaking_machines(), st.data())
def test_memories_that_a_layer_does_not_use_leak_all_the_same(
    machine: Accelerator, data: st.DataObject
) -> None:
    tops = [
        TopLevel(
            operand=operand,
            memory=data.draw(st.sampled_from([x.name for x in machine.levels_of(operand)])),
        )
        for operand in machine.operands
    ]
    used = without_unused_levels(machine, tops)
    assert leakage_of(used) == pytest.approx(leakage_of(machine))
    assert without_unused_levels(used, tops) == used
