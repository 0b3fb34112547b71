"""What declarations say in words of what they cannot import without waiting for numba."""

import pytest
from pydantic import TypeAdapter, ValidationError

from nestmap.costmodel.technology import EXPECTED_NODE, LARGEST_NODE, SMALLEST_NODE, nominal_voltage
from nestmap.model import InMemoryCompute
from nestmap.pipeline.frontend.yaml.file_model import Technology, section_of
from nestmap.pipeline.frontend.yaml.hardware.array import ImcArrayFields


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
