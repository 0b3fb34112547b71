"""Wrong lines about IMC arrays, clocks and leakage are named, with what would be right."""

from pathlib import Path

import pytest

from nestmap.pipeline.frontend.yaml.hardware.accelerator import parse_accelerator
from tests.faults.located import Fault, check_located

IMC = """\
name: small
operational_array:
  is_imc: true
  imc_type: analog
  input_precision: [8, 4]
  bit_serial_precision: 2
  adc_resolution: 6
  dimensions: [D1, D2]
  sizes: [4, 8]
memories:
  cells:
    size: 4
    r_cost: 0
    w_cost: 0.1
    operands: [I2]
    ports:
      - name: rw_port_1
        type: read_write
        bandwidth_min: 4
        bandwidth_max: 4
        allocation: ["I2, tl", "I2, fh"]
    served_dimensions: []
  dram:
    size: 1000000
    r_cost: 7
    w_cost: 8
    operands: [I1, I2, O]
    ports:
      - name: rw_port_1
        type: read_write
        bandwidth_min: 64
        bandwidth_max: 64
        allocation: ["I1, tl", "I2, tl", "O, tl", "O, fl"]
    served_dimensions: [D1, D2]
"""

DIGITAL = IMC.replace("analog", "digital").replace("adc_resolution: 6", "adc_resolution: 0")

ORDINARY = """\
name: small
operational_array:
  dimensions: [D1, D2]
  sizes: [4, 8]
  unit_energy: 0.5
  clock_period: 2
  unit_leakage: 0.01
static_energy: true
""" + IMC[IMC.index("memories:") :]

_ARRAY = "operational_array"

_WEIGHTS = IMC[IMC.index("    operands: [I2]") : IMC.index("    served_dimensions: []")]
_WEIGHTS_AND_INPUTS = _WEIGHTS.replace("[I2]", "[I2, I1]").replace(
    'fh"]', 'fh", "I1, tl", "I1, fh"]'
)
_OUTPUTS = _WEIGHTS.replace("I2", "O").replace('fh"]', 'fh", "O, fl", "O, th"]')

IMC_FAULTS = (
    Fault("  imc_type: analog\n", "", f"2: {_ARRAY}", "no imc_type", "field imc_type: one of"),
    Fault("analog", "mixed", f"4: {_ARRAY}.imc_type", "'mixed'", "analog, digital"),
    Fault("analog", "Analog", f"4: {_ARRAY}.imc_type", "'Analog'", "analog (one of"),
    Fault("  input_precision: [8, 4]\n", "", f"2: {_ARRAY}", "no input_precision", "the field"),
    Fault("[8, 4]", "[8]", f"5: {_ARRAY}.input_precision", "1 items", "weight precision]"),
    Fault("[8, 4]", "[8, 4, 4]", f"5: {_ARRAY}.input_precision", "3 items", "weight precision]"),
    Fault("[8, 4]", "8", f"5: {_ARRAY}.input_precision", "8", "[activation precision"),
    Fault("[8, 4]", "[6, 4]", f"5: {_ARRAY}.input_precision[0]", "6", "a power of two"),
    Fault("[8, 4]", "[8, 3]", f"5: {_ARRAY}.input_precision[1]", "3", "a power of two"),
    Fault("[8, 4]", "[8, 0]", f"5: {_ARRAY}.input_precision[1]", "0", "a power of two"),
    Fault("[8, 4]", "[-8, 4]", f"5: {_ARRAY}.input_precision[0]", "-8", "a power of two"),
    Fault("[8, 4]", "[8.0, 4]", f"5: {_ARRAY}.input_precision[0]", "8.0", "a power of two"),
    Fault("[8, 4]", "[2048, 4]", f"5: {_ARRAY}.input_precision[0]", "2048", "at most 1024"),
    Fault(
        "  bit_serial_precision: 2\n",
        "",
        f"2: {_ARRAY}",
        "no bit_serial_precision",
        "bit_serial_precision: a precision in bit",
    ),
    Fault(
        "bit_serial_precision: 2",
        "bit_serial_precision:",
        f"6: {_ARRAY}.bit_serial_precision",
        "nothing",
        "a precision in bit",
    ),
    Fault(
        "serial_precision: 2",
        "serial_precision: 3",
        f"6: {_ARRAY}.bit_serial_precision",
        "3",
        "power of two",
    ),
    Fault(
        "serial_precision: 2",
        "serial_precision: 0.5",
        f"6: {_ARRAY}.bit_serial_precision",
        "0.5",
        "power of",
    ),
    Fault(
        "serial_precision: 2",
        "serial_precision: 16",
        f"6: {_ARRAY}.bit_serial_precision",
        "16",
        "at most the activation precision, 8 bit",
    ),
    Fault("resolution: 6", "resolution: -1", f"7: {_ARRAY}.adc_resolution", "-1", "not negative"),
    Fault("resolution: 6", "resolution: 5.5", f"7: {_ARRAY}.adc_resolution", "5.5", "in bit"),
    Fault("resolution: 6", "resolution: 33", f"7: {_ARRAY}.adc_resolution", "33", "at most 32"),
    Fault("[D1, D2]", "[D1]", f"9: {_ARRAY}.sizes", "2 sizes", "each of 1 dimensions"),
    Fault(
        "[D1, D2]\n  sizes: [4, 8]",
        "[D1]\n  sizes: [4]",
        f"9: {_ARRAY}.sizes",
        "one dimension, D1",
        "columns, rows and banks",
    ),
    Fault("[4, 8]", "[4, 0]", f"9: {_ARRAY}.sizes[1]", "0", "positive number of units"),
    Fault("adc_resolution: 6", "technology: 5", f"7: {_ARRAY}.technology", "5", "7 to 180 nm"),
    Fault("adc_resolution: 6", "technology: 0.028", f"7: {_ARRAY}.technology", "0.028", "to 180"),
    Fault(
        "adc_resolution: 6",
        "supply_voltage: 0.2",
        f"7: {_ARRAY}.supply_voltage",
        "0.2 V at 28 nm",
        "more than the threshold voltage, 0.3 V",
    ),
    Fault(
        "adc_resolution: 6",
        "supply_voltage: 0",
        f"7: {_ARRAY}.supply_voltage",
        "0 as",
        "greater than",
    ),
    Fault("adc_resolution: 6", "unit_energy: x", f"7: {_ARRAY}.unit_energy", "'x'", "pJ"),
    Fault("adc_resolution: 6", "unit_area: -1", f"7: {_ARRAY}.unit_area", "-1", "an area"),
    Fault("adc_resolution: 6", "unit_leakage: -1", f"7: {_ARRAY}.unit_leakage", "-1", "mW"),
    Fault("adc_resolution: 6", "clock_period: 1", f"7: {_ARRAY}.clock_period", "1", "circuits"),
    Fault("adc_resolution: 6", "holds_inputs: no", f"7: {_ARRAY}.holds_inputs", "no", "true for"),
    Fault(
        "adc_resolution: 6",
        "systolic_dimensions: [D3]",
        f"7: {_ARRAY}.systolic_dimensions[0]",
        "'D3'",
        "one of D1, D2",
    ),
    Fault("adc_resolution: 6", "adc: 6", f"7: {_ARRAY}.adc", "unknown field 'adc'", "adc_res"),
    Fault("cells:", "cell:", "10: memories", "cell, dram", "a memory cells that holds"),
    Fault(_WEIGHTS, _WEIGHTS_AND_INPUTS, "11: memories.cells", "holds I2, I1", "weights only"),
    Fault(_WEIGHTS, _OUTPUTS, "11: memories.cells", "holds O", "weights only"),
    Fault(
        "served_dimensions: []",
        "served_dimensions: [D1]",
        "11: memories.cells",
        "serves D1",
        "one memory for each unit",
    ),
    Fault("size: 4\n", "size: 6\n", "11: memories.cells", "6 bit for weights of 4", "whole number"),
)

DIGITAL_FAULTS = (
    Fault("resolution: 0", "resolution: 6", f"7: {_ARRAY}.adc_resolution", "6", "0 for a digital"),
    Fault("[4, 8]", "[4, 6]", f"9: {_ARRAY}.sizes", "6 rows of a digital", "a power of two"),
)

ORDINARY_FAULTS = (
    Fault("unit_leakage: 0.01", "imc_type: analog", f"7: {_ARRAY}.imc_type", "'analog'", "is_imc"),
    Fault(
        "unit_leakage: 0.01",
        "adc_resolution: 6",
        f"7: {_ARRAY}.adc_resolution",
        "6",
        "is_imc: true",
    ),
    Fault(
        "unit_leakage: 0.01",
        "bit_serial_precision: 2",
        f"7: {_ARRAY}.bit_serial_precision",
        "2",
        "is_imc",
    ),
    Fault("unit_leakage: 0.01", "technology: 28", f"7: {_ARRAY}.technology", "28", "is_imc: true"),
    Fault("unit_leakage: 0.01", "supply_voltage: 1", f"7: {_ARRAY}.supply_voltage", "1", "is_imc"),
    Fault("unit_leakage: 0.01", "unit_leakage: -1", f"7: {_ARRAY}.unit_leakage", "-1", "mW"),
    Fault("period: 2", "period: 0", f"6: {_ARRAY}.clock_period", "0", "in ns, above 0"),
    Fault("period: 2", "period: -2", f"6: {_ARRAY}.clock_period", "-2", "in ns, above 0"),
    Fault("period: 2", "period: 2 ns", f"6: {_ARRAY}.clock_period", "'2 ns'", "in ns"),
    Fault("  clock_period: 2\n", "", "7: static_energy", "true", "clock_period (ns)"),
    Fault("  unit_leakage: 0.01\n", "", "7: static_energy", "true", "leakage (mW) of a memory"),
    Fault("static_energy: true", "static_energy: 1", "8: static_energy", "1", "true or false"),
)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        pytest.param(text, fault, id=f"{fault.new[:40].strip()!r} at {fault.where}")
        for text, faults in (
            (IMC, IMC_FAULTS),
            (DIGITAL, DIGITAL_FAULTS),
            (ORDINARY, ORDINARY_FAULTS),
        )
        for fault in faults
    ],
)
def test_faults_are_located(tmp_path: Path, text: str, fault: Fault) -> None:
    check_located(parse_accelerator, text, fault, tmp_path / "f.yaml")


@pytest.mark.parametrize("text", [IMC, DIGITAL, ORDINARY])
def test_the_texts_are_good_before_the_change(tmp_path: Path, text: str) -> None:
    file = tmp_path / "f.yaml"
    file.write_text(text)
    assert parse_accelerator(file).name == "small"
