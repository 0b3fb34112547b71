"""What declarations say in words of what they cannot import without waiting for numba."""

from typing import Final

import pytest
from pydantic import TypeAdapter, ValidationError

from nestmap.costmodel.memory_cost.dram import DramPreset
from nestmap.costmodel.technology import EXPECTED_NODE, LARGEST_NODE, SMALLEST_NODE, nominal_voltage
from nestmap.model import InMemoryCompute
from nestmap.model.evaluation.objective import DESIGN_OBJECTIVES
from nestmap.pipeline.frontend.yaml.design_space import SpaceFields
from nestmap.pipeline.frontend.yaml.field_schema import one_of
from nestmap.pipeline.frontend.yaml.file_model import Technology, section_of
from nestmap.pipeline.frontend.yaml.hardware.array import ImcArrayFields
from nestmap.pipeline.frontend.yaml.hardware.memory_cost import SramModel
from nestmap.pipeline.frontend.yaml.hardware.memory_fields import MemoryFields


def test_nodes_are_those_that_can_be_scaled_to() -> None:
    fields = {field.name: field for field in section_of(ImcArrayFields).fields}
    assert fields["technology"].kind == f"a technology node of {EXPECTED_NODE}"
    read = TypeAdapter(Technology).validate_python
    assert (read(SMALLEST_NODE), read(LARGEST_NODE)) == (SMALLEST_NODE, LARGEST_NODE)
    for node in (SMALLEST_NODE - 0.01, LARGEST_NODE + 0.01):
        with pytest.raises(ValidationError):
            read(node)


def test_the_usual_voltage_is_that_of_the_usual_node() -> None:
    usual, fields = InMemoryCompute.model_fields, ImcArrayFields.model_fields
    node = usual["technology"].default
    voltage = nominal_voltage(node)
    assert (fields["technology"].default, usual["supply_voltage"].default) == (node, voltage)
    said = {field.name: field.otherwise for field in section_of(ImcArrayFields).fields}
    assert said["supply_voltage"].endswith(f"{voltage:g} at {node:g} nm")


IMC: Final = {
    "dimensions": ("D1", "D2"),
    "sizes": (32, 32),
    "is_imc": True,
    "imc_type": "analog",
    "input_precision": (8, 8),
    "bit_serial_precision": 2,
}


@pytest.mark.parametrize("field", ["adc_resolution", "input_precision"])
def test_figures_in_the_meaning_of_fields_are_their_bounds(field: str) -> None:
    meanings = {x.name: x.meaning for x in section_of(ImcArrayFields).fields}
    largest = int(meanings[field].partition("at most ")[2].partition(";")[0])

    def read(bits: int) -> ImcArrayFields:
        value = bits if field == "adc_resolution" else (8, bits)
        return ImcArrayFields.model_validate({**IMC, field: value})

    assert read(largest).is_imc
    with pytest.raises(ValidationError):
        read(2 * largest)


def test_models_of_memories_are_those_that_there_are() -> None:
    kinds = {field.name: field.kind for field in section_of(MemoryFields).fields}
    assert kinds["cost"] == one_of([*SramModel, *DramPreset])


def test_the_objectives_of_a_space_are_those_that_there_are() -> None:
    meanings = {field.name: field.meaning for field in section_of(SpaceFields).fields}
    assert (
        f"some of {', '.join(f'`{x}`' for x in DESIGN_OBJECTIVES)}, over" in meanings["objectives"]
    )
