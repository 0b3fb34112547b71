"""The vector unit of an accelerator file: read, and every wrong line of it named."""

from pathlib import Path
from typing import Final

import pytest

from nestmap.model import InputError, VectorUnit
from nestmap.pipeline.frontend.yaml.hardware.accelerator import parse_accelerator
from tests.pipeline.cli.inputs import MACHINE

UNIT: Final = """\
vector_unit:
  lanes: 64
  operation_energy: 0.1
  memory: buffer
  area: 2
"""


def parsed(folder: Path, unit: str) -> VectorUnit | None:
    """The vector unit of the tiny machine with that text at the end."""
    file = folder / "tiny.yaml"
    file.write_text(MACHINE + unit)
    return parse_accelerator(file).vector_unit


def test_a_whole_unit(tmp_path: Path) -> None:
    expected = VectorUnit(lanes=64, operation_energy=0.1, memory="buffer", area=2.0)
    assert parsed(tmp_path, UNIT) == expected


@pytest.mark.parametrize("rest", ["", ", memory: ~, area: null"])
def test_memory_and_area_may_be_left_out(tmp_path: Path, rest: str) -> None:
    found = parsed(tmp_path, f"vector_unit: {{lanes: 1, operation_energy: 0{rest}}}\n")
    assert found == VectorUnit(lanes=1, operation_energy=0.0)


@pytest.mark.parametrize("text", ["", "vector_unit:\n", "vector_unit: null\n"])
def test_there_may_be_none(tmp_path: Path, text: str) -> None:
    assert parsed(tmp_path, text) is None


@pytest.mark.parametrize(
    ("old", "new", "where", "found", "expected"),
    [
        ("lanes: 64", "lanes: 0", "41: vector_unit.lanes", "0", "a positive number"),
        ("lanes: 64", "lanes: 1.5", "41: vector_unit.lanes", "1.5", "a positive number"),
        ("lanes: 64", f"lanes: {2**31}", "41: vector_unit.lanes", str(2**31), "at most"),
        ("lanes: 64\n", "\n", "40: vector_unit", "no lanes", "the field lanes"),
        ("lanes", "lane", "41: vector_unit.lane", "unknown field 'lane'", "lanes (one of"),
        ("0.1", "-0.1", "42: vector_unit.operation_energy", "-0.1", "an energy in pJ"),
        ("0.1", "1e-1", "42: vector_unit.operation_energy", "'1e-1'", "1.0e-3"),
        ("0.1", ".inf", "42: vector_unit.operation_energy", ".inf", "an energy in pJ"),
        ("  operation_energy: 0.1\n", "", "40: vector_unit", "no operation_energy", "the field"),
        ("buffer", "bufer", "43: vector_unit.memory", "'bufer'", "outputs (O): buffer (one of"),
        ("buffer", "7", "43: vector_unit.memory", "7", "the name of a memory"),
        ("area: 2", "area: -2", "44: vector_unit.area", "-2", "an area"),
        (UNIT, "vector_unit: 64\n", "40: vector_unit", "64", "lanes, operation_energy, memory"),
        ("vector_unit", "vector_units", "40: vector_units", "'vector_units'", "vector_unit (one"),
    ],
)
def test_wrong_lines_are_named(
    tmp_path: Path, old: str, new: str, where: str, found: str, expected: str
) -> None:
    assert UNIT.count(old) == 1
    with pytest.raises(InputError) as caught:
        parsed(tmp_path, UNIT.replace(old, new))
    assert caught.value.where == f"{tmp_path / 'tiny.yaml'}:{where}"
    assert found in caught.value.found
    assert expected in caught.value.expected


def test_a_memory_without_outputs_is_none_for_the_unit(tmp_path: Path) -> None:
    file = tmp_path / "tiny.yaml"
    weights = """\
  weights:
    operands: [I2]
    served_dimensions: [D1]
    size: 64
    r_cost: 1
    w_cost: 1
    latency: 1
    ports: [{name: rw, type: read_write, bandwidth_min: 8, bandwidth_max: 8,
             allocation: ["I2, tl", "I2, fh"]}]
"""
    memories = MACHINE.replace("  buffer:\n", f"{weights}  buffer:\n")
    file.write_text(memories + UNIT.replace("memory: buffer", "memory: weights"))
    with pytest.raises(InputError, match=r"found 'weights'; expected a memory that holds outputs"):
        parse_accelerator(file)
