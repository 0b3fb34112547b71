"""Reads the circuits of an in-memory-computing (IMC) array."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from nestmap.model import ImcKind, InMemoryCompute
from nestmap.model.base import copy_with
from nestmap.pipeline.frontend.yaml.field_schema import Field, Need, Origin, one_of
from nestmap.pipeline.frontend.yaml.located_node import Node
from nestmap.pipeline.frontend.yaml.quantities import NODE, nominal_supply_voltage, technology

_LARGEST_RESOLUTION: Final = 32
_LARGEST_PRECISION: Final = 1024
_PRECISION: Final = "a precision in bit, a power of two"

IMC_TYPE: Final = Field(
    "imc_type",
    "how the array accumulates: currents on bit lines (analog), or adder trees next to the cells "
    "(digital)",
    one_of(ImcKind),
    "analog",
    Need.CONDITIONAL,
)
INPUT_PRECISION: Final = Field(
    "input_precision",
    f"bits of an activation and of a weight, each a power of two, at most {_LARGEST_PRECISION}",
    "[activation precision, weight precision] in bit",
    "[8, 8]",
    Need.CONDITIONAL,
)
BIT_SERIAL_PRECISION: Final = Field(
    "bit_serial_precision",
    "bits of an activation that enter per cycle, at most the activation precision",
    _PRECISION,
    "2",
    Need.CONDITIONAL,
)
ADC_RESOLUTION: Final = Field(
    "adc_resolution",
    f"resolution of the converters at the bit lines, at most {_LARGEST_RESOLUTION}; must be 0 in a "
    "digital array. With 0 they cost nothing",
    "a resolution in bit, not negative",
    "8",
    Need.OPTIONAL,
    default="0",
)
TECHNOLOGY: Final = Field(
    "technology",
    "the technology node of the array",
    NODE,
    "22",
    Need.OPTIONAL,
    default="28",
    origin=Origin.NESTMAP,
)
SUPPLY_VOLTAGE: Final = Field(
    "supply_voltage",
    "supply voltage, more than a third of the nominal voltage of the node",
    "a supply voltage in V",
    "0.8",
    Need.OPTIONAL,
    otherwise="the nominal voltage of the node: 0.9 at 28 nm",
    origin=Origin.NESTMAP,
)

IMC_FIELDS: Final = (
    *(IMC_TYPE, INPUT_PRECISION, BIT_SERIAL_PRECISION, ADC_RESOLUTION),
    *(TECHNOLOGY, SUPPLY_VOLTAGE),
)
"""The fields of ``operational_array`` that describe an IMC array."""


def parse_imc(node: Node, fields: Mapping[Field, Node]) -> InMemoryCompute:
    """The circuits of the IMC array ``node``; ``fields`` are the fields present in the file.

    Raises:
        InputError: if the fields do not match the schema; the error names line and field.
    """
    for field in (IMC_TYPE, INPUT_PRECISION, BIT_SERIAL_PRECISION):
        if field not in fields:
            raise node.error(f"the field {field.name} of an IMC array", f"no {field.name}")
    kind = fields[IMC_TYPE].choice(ImcKind)
    activation, weight = _precisions(fields[INPUT_PRECISION])
    resolution = _resolution(fields.get(ADC_RESOLUTION), kind)
    imc = InMemoryCompute(
        kind=kind,
        activation_precision=activation,
        weight_precision=weight,
        bit_serial_precision=_slice(fields[BIT_SERIAL_PRECISION], activation),
        adc_resolution=resolution,
    )
    return _built(imc, fields)


def _precisions(node: Node) -> tuple[int, int]:
    items = node.sequence(INPUT_PRECISION.kind)
    if len(items) != 2:
        raise node.error(INPUT_PRECISION.kind, f"a list of {len(items)} items")
    activation, weight = (_power_of_two(item) for item in items)
    return activation, weight


def _slice(node: Node, activation: int) -> int:
    """The bits of an activation that enter the array per cycle."""
    bits = _power_of_two(node)
    if bits > activation:
        raise node.error(f"at most the activation precision, {activation} bit")
    return bits


def _power_of_two(node: Node) -> int:
    bits = node.integer(_PRECISION, minimum=1, maximum=_LARGEST_PRECISION)
    if bits & (bits - 1):
        raise node.error(_PRECISION)
    return bits


def _resolution(node: Node | None, kind: ImcKind) -> int:
    if node is None:
        return 0
    bits = node.integer(ADC_RESOLUTION.kind, minimum=0, maximum=_LARGEST_RESOLUTION)
    if bits and kind is ImcKind.DIGITAL:
        raise node.error("0 for a digital array: it has no converters")
    return bits


def _built(imc: InMemoryCompute, fields: Mapping[Field, Node]) -> InMemoryCompute:
    """The circuits in the given technology, at the given or the nominal voltage."""
    if TECHNOLOGY in fields:
        nm = technology(fields[TECHNOLOGY])
        imc = copy_with(imc, {"technology": nm, "supply_voltage": nominal_supply_voltage(nm)})
    return _at_voltage(imc, fields[SUPPLY_VOLTAGE]) if SUPPLY_VOLTAGE in fields else imc


def _at_voltage(imc: InMemoryCompute, node: Node) -> InMemoryCompute:
    from nestmap.costmodel.imc.blocks import SupplyVoltageError, circuits_of  # noqa: PLC0415 (imports numba)

    volts = node.number(SUPPLY_VOLTAGE.kind, minimum=0)
    with node.locate_errors():
        imc = copy_with(imc, {"supply_voltage": volts})
    try:
        circuits_of(imc)
    except SupplyVoltageError as error:
        found, _, expected = str(error).partition("; expected ")
        raise node.error(expected, found) from None
    return imc
