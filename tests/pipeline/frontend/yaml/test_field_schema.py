"""What declarations say in words of what they cannot import without waiting for numba."""

from nestmap.costmodel.technology import EXPECTED_NODE, nominal_voltage
from nestmap.model import InMemoryCompute
from nestmap.pipeline.frontend.yaml.hardware.array import SUPPLY_VOLTAGE
from nestmap.pipeline.frontend.yaml.quantities import NODE


def test_nodes_are_those_that_can_be_scaled_to() -> None:
    assert f"a technology node of {EXPECTED_NODE}" == NODE


def test_the_usual_voltage_is_that_of_the_usual_node() -> None:
    usual = InMemoryCompute.model_fields
    voltage = nominal_voltage(usual["technology"].default)
    assert usual["supply_voltage"].default == voltage
    assert SUPPLY_VOLTAGE.otherwise.endswith(f"{voltage:g} at {usual['technology'].default:g} nm")
