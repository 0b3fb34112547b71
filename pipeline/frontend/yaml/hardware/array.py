"""Reads the operational array of an accelerator description."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from nestmap.model import ArraySide, ImcKind, InMemoryCompute, OperationalArray
from nestmap.model.base import copy_with
from nestmap.model.dims import MemoryOperand
from nestmap.pipeline.frontend.yaml.field_schema import Field, Need, Origin, Section, one_of
from nestmap.pipeline.frontend.yaml.located_node import Node
from nestmap.pipeline.frontend.yaml.quantities import (
    AREA,
    ARRAY_DIMENSION,
    ARRAY_DIMENSIONS,
    ENERGY,
    NODE,
    PERIOD,
    POWER,
    RATE,
    SWITCH,
    area,
    energy,
    nominal_supply_voltage,
    period,
    power,
    rate,
    technology,
)

# --- reads the circuits of an in-memory-computing (IMC) array ---

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


# --- reads the operational array of an accelerator description ---

_AT: Final = ("operational_array",)

_DIMENSIONS: Final = Field(
    "dimensions",
    "names of the sides of the array: a letter, then letters, digits or `_`, at most 32",
    ARRAY_DIMENSIONS,
    "[D1, D2]",
)
_SIZES: Final = Field(
    "sizes",
    "units along each side, in the order of `dimensions`",
    "a list of positive numbers of units",
    "[32, 32]",
)
_UNIT_ENERGY: Final = Field("unit_energy", "energy of one multiply-accumulate", ENERGY, "0.04")
_UNIT_AREA: Final = Field(
    "unit_area", "area of one unit", AREA, "0.0001", Need.OPTIONAL, default="0"
)
_UNIT_LEAKAGE: Final = Field(
    "unit_leakage",
    "leakage power of one unit, used or not; counted with `static_energy: true`",
    POWER,
    "0.0005",
    Need.OPTIONAL,
    default="0",
    origin=Origin.NESTMAP,
)
_CLOCK_PERIOD: Final = Field(
    "clock_period",
    "converts cycles to time; required by `static_energy: true`",
    PERIOD,
    "1.25",
    Need.OPTIONAL,
    otherwise="unknown: latencies are in cycles only",
    origin=Origin.NESTMAP,
)
_SYSTOLIC_DIMENSIONS: Final = Field(
    "systolic_dimensions",
    "the `dimensions` along which operands move one unit per cycle, which delays the last results",
    ARRAY_DIMENSIONS,
    "[D1]",
    Need.OPTIONAL,
    default="[]",
)
_HOLDS_INPUTS: Final = Field(
    "holds_inputs",
    "whether a unit keeps an input word until the loops change it; with `false` it reads the "
    "innermost memory for every operation",
    SWITCH,
    "false",
    Need.OPTIONAL,
    default="true",
    origin=Origin.NESTMAP,
)
_ZERO_GATING: Final = Field(
    "zero_gating",
    "the inputs whose zeros [gate operations](cost-model.md#gated-operations), which saves energy; "
    "`operand_density` of a layer says how many there are",
    "a list of memory operands such as I1",
    "[I1]",
    Need.OPTIONAL,
    default="[]",
    origin=Origin.NESTMAP,
)
_ZERO_SKIPPING: Final = Field(
    "zero_skipping",
    "the inputs whose zeros gate operations and [skip steps](cost-model.md#skipped-steps) of the "
    "array, which saves cycles, too",
    "a list of memory operands such as I1",
    "[I1]",
    Need.OPTIONAL,
    default="[]",
    origin=Origin.NESTMAP,
)
_HOP_ENERGY: Final = Field(
    "hop_energy",
    "energy per bit of [a hop](cost-model.md#hops), from a unit to the next",
    ENERGY,
    "0.05",
    Need.OPTIONAL,
    default="0",
    origin=Origin.NESTMAP,
)
_HOP_BANDWIDTH: Final = Field(
    "hop_bandwidth",
    "bits of an operand that a link [between two units](cost-model.md#busy-hops) moves in a cycle",
    RATE,
    "16",
    Need.OPTIONAL,
    otherwise="any number",
    origin=Origin.NESTMAP,
)
_IS_IMC: Final = Field(
    "is_imc",
    "whether the array [computes in memory](#array-that-computes-in-memory)",
    SWITCH,
    "false",
    Need.OPTIONAL,
    default="false",
)


def _not_here(field: Field, need: Need, meaning: str, example: str = "") -> Field:
    """The same field in a section where it has no effect."""
    return Field(field.name, meaning, field.kind, example or field.example, need)


_NO_IMC_TYPE: Final = _not_here(IMC_TYPE, Need.REFUSED, "only with `is_imc: true`")
_NO_TECHNOLOGY: Final = _not_here(TECHNOLOGY, Need.REFUSED, "only with `is_imc: true`")
_NO_VOLTAGE: Final = _not_here(SUPPLY_VOLTAGE, Need.REFUSED, "only with `is_imc: true`")
_NO_SLICES: Final = _not_here(BIT_SERIAL_PRECISION, Need.IGNORED, "must be 0", "0")
_NO_CONVERTERS: Final = _not_here(ADC_RESOLUTION, Need.IGNORED, "must be 0", "0")

ARRAY: Final = Section(
    "Operational array",
    _AT,
    "The multiply-accumulate units.",
    (
        *(_DIMENSIONS, _SIZES, _UNIT_ENERGY, _UNIT_AREA, _UNIT_LEAKAGE, _CLOCK_PERIOD),
        *(_SYSTOLIC_DIMENSIONS, _HOLDS_INPUTS, _ZERO_GATING, _ZERO_SKIPPING),
        *(_HOP_ENERGY, _HOP_BANDWIDTH, _IS_IMC),
        *(_NO_IMC_TYPE, _not_here(INPUT_PRECISION, Need.IGNORED, "only for IMC")),
        *(_NO_SLICES, _NO_CONVERTERS, _NO_TECHNOLOGY, _NO_VOLTAGE),
    ),
)

_COLUMNS_AND_ROWS: Final = replace(
    _DIMENSIONS,
    meaning="names of two or more sides. In the order of their names, the first is the columns "
    "(outputs), the second the rows (inputs that are accumulated; a power of two in a digital "
    "array), and all others together are the banks",
)
_CIRCUITS: Final = "it follows from the circuits"
_NO_ENERGY: Final = _not_here(_UNIT_ENERGY, Need.IGNORED, _CIRCUITS)
_NO_AREA: Final = _not_here(_UNIT_AREA, Need.IGNORED, _CIRCUITS)
_NO_PERIOD: Final = _not_here(_CLOCK_PERIOD, Need.REFUSED, "the clock follows from the circuits")
_NOT_SYSTOLIC: Final = _not_here(_SYSTOLIC_DIMENSIONS, Need.IGNORED, _CIRCUITS)
_HOLDS: Final = _not_here(_HOLDS_INPUTS, Need.IGNORED, "must be `true`", "true")

IMC_ARRAY: Final = Section(
    "Array that computes in memory",
    _AT,
    "With `is_imc: true` energy, area and clock follow from the circuits: "
    "see [In-memory computing](imc.md). One of the memories must be called `cells`; it holds the "
    "weights of a unit. It has one input operand, is the innermost memory, exists in each unit "
    "(`served_dimensions: []`), and its `size` is a whole number of weights. Its `area` is that "
    "of the cells of a unit; 0 leaves it out.",
    (
        *(_COLUMNS_AND_ROWS, _SIZES, _NO_ENERGY, _NO_AREA, _UNIT_LEAKAGE, _NO_PERIOD),
        *(_NOT_SYSTOLIC, _HOLDS),
        replace(_IS_IMC, meaning="`true`", example="true", need=Need.REQUIRED, default=""),
        *IMC_FIELDS,
    ),
)


def parse_array(node: Node) -> OperationalArray:
    """The array that the field ``operational_array`` describes.

    Raises:
        InputError: if it does not match the schema; the error names line and field.
    """
    switch = node.entries().get(_IS_IMC.name)
    if switch is not None and not switch.is_null and switch.boolean():
        return _imc_array(node)
    fields = node.fields(ARRAY)
    _check_no_imc(fields)
    sides = _sides(fields[_DIMENSIONS], fields[_SIZES])
    holds_inputs = fields.get(_HOLDS_INPUTS)
    with node.locate_errors():
        return OperationalArray(
            sides=sides,
            unit_energy=energy(fields[_UNIT_ENERGY]),
            unit_area=area(fields[_UNIT_AREA]) if _UNIT_AREA in fields else 0.0,
            unit_leakage=power(fields[_UNIT_LEAKAGE]) if _UNIT_LEAKAGE in fields else 0.0,
            clock_period=period(fields[_CLOCK_PERIOD]) if _CLOCK_PERIOD in fields else None,
            systolic_dimensions=_systolic(fields.get(_SYSTOLIC_DIMENSIONS), sides),
            holds_inputs=holds_inputs.boolean() if holds_inputs else True,
            zero_gating=_operands(fields.get(_ZERO_GATING)),
            zero_skipping=_operands(fields.get(_ZERO_SKIPPING)),
            hop_energy=energy(fields[_HOP_ENERGY]) if _HOP_ENERGY in fields else 0.0,
            hop_bandwidth=rate(fields[_HOP_BANDWIDTH]) if _HOP_BANDWIDTH in fields else None,
        )


def _operands(node: Node | None) -> tuple[MemoryOperand, ...]:
    return node.names("a memory operand such as I1") if node else ()


def _check_no_imc(fields: Mapping[Field, Node]) -> None:
    """Checks that an ordinary array has no IMC fields.

    ``input_precision`` and zeros are accepted and ignored, because ZigZag's own files have them.
    """
    for field in (_NO_IMC_TYPE, _NO_TECHNOLOGY, _NO_VOLTAGE):
        if field in fields:
            raise fields[field].error(f"is_imc: true with {field.name}")
    for field in (_NO_SLICES, _NO_CONVERTERS):
        if field in fields and fields[field].number() != 0:
            raise fields[field].error(f"is_imc: true with {field.name}, or 0")


def _imc_array(node: Node) -> OperationalArray:
    """An IMC array, whose costs and clock follow from its circuits.

    Stated energy, area and systolic dimensions are checked but ignored, as in ZigZag.
    """
    fields = node.fields(IMC_ARRAY)
    sides = _sides(fields[_COLUMNS_AND_ROWS], fields[_SIZES])
    if _NO_ENERGY in fields:
        energy(fields[_NO_ENERGY])
    if _NO_AREA in fields:
        area(fields[_NO_AREA])
    _systolic(fields.get(_NOT_SYSTOLIC), sides)
    if _NO_PERIOD in fields:
        raise fields[_NO_PERIOD].error("no clock_period: the circuits of an IMC array set it")
    if _HOLDS in fields and not fields[_HOLDS].boolean():
        raise fields[_HOLDS].error("true for an IMC array")
    imc = parse_imc(node, fields)
    with fields[_SIZES].locate_errors():
        return OperationalArray(
            sides=sides,
            unit_energy=0.0,
            unit_leakage=power(fields[_UNIT_LEAKAGE]) if _UNIT_LEAKAGE in fields else 0.0,
            imc=imc,
        )


def _sides(dimensions: Node, lengths: Node) -> tuple[ArraySide, ...]:
    names = dimensions.names(ARRAY_DIMENSION)
    if not names:
        raise dimensions.error("at least one array dimension")
    size = "a positive number of units"
    sizes = [item.integer(size, minimum=1, maximum=2**31 - 1) for item in lengths.sequence()]
    if len(sizes) != len(names):
        raise lengths.error(f"one size for each of {len(names)} dimensions", f"{len(sizes)} sizes")
    return tuple(ArraySide(name=d, size=n) for d, n in zip(names, sizes, strict=True))


def _systolic(node: Node | None, sides: tuple[ArraySide, ...]) -> tuple[str, ...]:
    return node.names(ARRAY_DIMENSION, [side.name for side in sides]) if node else ()
