"""Vector units in accelerators, and vector operators in the totals of networks."""

import pytest
from hypothesis import given, settings
from pydantic import ValidationError

from nestmap.costmodel.area_leakage import total_area
from nestmap.model import (
    Accelerator,
    LayerFront,
    NetworkEvaluation,
    NetworkFront,
    Objective,
    TopLevel,
    VectorUnit,
    without_unused_levels,
)
from nestmap.model.base import copy_with
from tests.costmodel.machines import machine, memory
from tests.store.builders import network, result, vector_entry, with_vector
from tests.sweeps import some_of
from tests.vectors import vector_machines, with_unit

SMALL = machine(memory("weights", operands="I2"), memory("buffer"), memory("top"))


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"lanes": 0}, "greater than or equal to 1"),
        ({"lanes": 2.5}, "valid integer"),
        ({"operation_energy": -0.1}, "greater than or equal to 0"),
        ({"operation_energy": float("inf")}, "finite number"),
        ({"area": -1.0}, "greater than or equal to 0"),
        ({"width": 64}, "Extra inputs"),
    ],
)
def test_wrong_units_are_refused(fields: dict[str, object], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        VectorUnit.model_validate({"lanes": 8, "operation_energy": 0.25} | fields)


@pytest.mark.parametrize("name", ["weights", "dram", ""])
def test_the_memory_of_a_unit_holds_outputs(name: str) -> None:
    message = f"vector unit has memory {name}; expected a memory that holds outputs: buffer, top"
    with pytest.raises(ValidationError, match=message):
        with_unit(SMALL, memory=name)


def test_a_unit_needs_a_memory_for_outputs() -> None:
    bare = machine(memory("weights", operands="I2"))
    assert bare.vector_memory is None
    with pytest.raises(ValidationError, match="holds outputs: there is none"):
        with_unit(bare)


def test_the_memory_is_the_units_or_the_outermost_one_of_outputs() -> None:
    assert SMALL.vector_memory == SMALL.memories[2]
    assert with_unit(SMALL).vector_memory == SMALL.memories[2]
    assert with_unit(SMALL, memory="buffer").vector_memory == SMALL.memories[1]
    apart = machine(memory("outputs", operands="O"), memory("inputs", operands="I1 I2"))
    assert apart.vector_memory == apart.memories[0]


def test_the_unit_is_part_of_content_and_area() -> None:
    assert with_unit(SMALL).content_hash != SMALL.content_hash
    assert copy_with(with_unit(SMALL), {"vector_unit": None}).content_hash == SMALL.content_hash
    unit = VectorUnit(lanes=8, operation_energy=0.25, area=3.5)
    assert total_area(copy_with(SMALL, {"vector_unit": unit})) == total_area(SMALL) + 3.5


@settings(max_examples=some_of(50), deadline=None)
@given(vector_machines())
def test_accelerators_with_a_unit_come_back_from_json(accelerator: Accelerator) -> None:
    again = Accelerator.model_validate_json(accelerator.model_dump_json())
    assert again == accelerator
    assert again.content_hash == accelerator.content_hash


@pytest.mark.parametrize("kept", ["buffer", "top"])
def test_a_machine_without_the_memory_of_its_unit_is_still_one(kept: str) -> None:
    top = TopLevel(operand="O", memory=kept)
    reduced = without_unused_levels(with_unit(SMALL, memory="top"), (top,))
    assert reduced.vector_unit is not None
    assert reduced.vector_unit.memory == (None if kept == "buffer" else "top")
    assert reduced.vector_memory is not None
    assert reduced.vector_memory.name == kept
    assert without_unused_levels(reduced, (top,)) == reduced


def totals(counted: bool) -> NetworkEvaluation:
    """Two layers and two vector operators."""
    return copy_with(with_vector(result(network())), {"vector_counted": counted})


def test_totals_include_vector_operators_only_where_they_count() -> None:
    array, beside, counted = result(network()), totals(False), totals(True)
    assert (beside.energy, beside.latency, beside.edp) == (array.energy, array.latency, array.edp)
    assert beside.utilization == array.utilization
    entries = [vector_entry("a"), vector_entry("b", energy=0.7)]
    assert counted.vector_energy == entries[0].energy + entries[1].energy
    assert counted.vector_latency == 12
    assert counted.energy == array.energy + counted.vector_energy
    assert counted.latency == array.latency + 12
    assert counted.edp == counted.energy * counted.latency
    assert counted.utilization == counted.ideal_cycles / counted.latency
    assert (counted.macs, counted.evaluations) == (array.macs, array.evaluations)


def test_a_front_hands_its_vector_operators_on() -> None:
    layers = tuple(LayerFront(cmes=(x.cme,), statistics=x.statistics) for x in totals(True).layers)
    front = NetworkFront(layers=layers, vector=totals(True).vector, vector_counted=True)
    assert front.best(Objective.EDP) == totals(True)
    assert NetworkFront(layers=layers).best(Objective.EDP) == result(network())
