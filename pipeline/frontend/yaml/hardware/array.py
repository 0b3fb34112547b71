"""Reads the operational array of an accelerator description."""

from collections.abc import Mapping
from typing import Annotated, Final, cast

from pydantic import AfterValidator, Discriminator, Field, Tag

from nestmap.model import ArraySide, ImcKind, InMemoryCompute, OperationalArray
from nestmap.model.base import copy_with
from nestmap.pipeline.frontend.yaml.field_schema import Need, Origin
from nestmap.pipeline.frontend.yaml.file_model import (
    Area,
    ArrayDimensions,
    Count,
    Energy,
    FileModel,
    Name,
    Number,
    Operands,
    Period,
    Power,
    Rate,
    Real,
    Switch,
    Technology,
    Written,
    check_known,
    different,
    ignored,
)
from nestmap.pipeline.frontend.yaml.located_node import Node

_LARGEST_RESOLUTION: Final = 32
_LARGEST_PRECISION: Final = 1024
_OPERANDS: Final = "a list of memory operands such as I1"


def _is_power_of_two(bits: int) -> int:
    if bits & (bits - 1):
        raise ValueError(bits)
    return bits


_Precision = Annotated[
    int,
    Field(strict=True, ge=1, le=_LARGEST_PRECISION),
    AfterValidator(_is_power_of_two),
    Written("a precision in bit, a power of two"),
]


_Sides = Annotated[
    tuple[Annotated[Name, Written("an array dimension such as D1")], ...],
    AfterValidator(different),
    Written("a list of array dimensions such as D1", "[D1, D2]"),
]


class _AnyArray(FileModel, frozen=True):
    """The fields of every array."""

    at = ("operational_array",)

    dimensions: _Sides
    """Names of the sides of the array: a letter, then letters, digits or `_`, at most 32."""
    sizes: Annotated[
        tuple[Annotated[Count, Written("a positive number of units")], ...],
        Written("a list of positive numbers of units", "[32, 32]"),
    ]
    """Units along each side, in the order of `dimensions`."""
    unit_energy: Annotated[Energy, Written(example="0.04")]
    """Energy of one multiply-accumulate."""
    unit_area: Annotated[Area, Written(example="0.0001")] = 0.0
    """Area of one unit."""
    unit_leakage: Annotated[Power, Written(example="0.0005", origin=Origin.NESTMAP)] = 0.0
    """Leakage power of one unit, used or not; counted with `static_energy: true`."""
    clock_period: Annotated[
        Period | None,
        Written(
            example="1.25", otherwise="unknown: latencies are in cycles only", origin=Origin.NESTMAP
        ),
    ] = None
    """Converts cycles to time; required by `static_energy: true`."""
    systolic_dimensions: Annotated[ArrayDimensions, Written(example="[D1]")] = ()
    """The `dimensions` along which operands move one unit per cycle, which delays the last
    results."""
    holds_inputs: Annotated[Switch, Written(example="false", origin=Origin.NESTMAP)] = True
    """Whether a unit keeps an input word until the loops change it; with `false` it reads the
    innermost memory for every operation."""


class ArrayFields(_AnyArray, frozen=True, title="Operational array"):
    """The multiply-accumulate units."""

    zero_gating: Annotated[Operands, Written(_OPERANDS, "[I1]", origin=Origin.NESTMAP)] = ()
    """The inputs whose zeros [gate operations](cost-model.md#gated-operations), which saves energy;
    `operand_density` of a layer says how many there are."""
    zero_skipping: Annotated[Operands, Written(_OPERANDS, "[I1]", origin=Origin.NESTMAP)] = ()
    """The inputs whose zeros gate operations and [skip steps](cost-model.md#skipped-steps) of the
    array, which saves cycles, too."""
    hop_energy: Annotated[Energy, Written(example="0.05", origin=Origin.NESTMAP)] = 0.0
    """Energy per bit of [a hop](cost-model.md#hops), from a unit to the next."""
    hop_bandwidth: Annotated[
        Rate | None, Written(example="16", otherwise="any number", origin=Origin.NESTMAP)
    ] = None
    """Bits of an operand that a link [between two units](cost-model.md#busy-hops) moves in a
    cycle."""
    is_imc: Annotated[Switch, Written(example="false")] = False
    """Whether the array [computes in memory](#array-that-computes-in-memory)."""
    imc_type: Annotated[object, Written("anything", "analog", need=Need.REFUSED)] = None
    """Only with `is_imc: true`."""
    input_precision: Annotated[object, ignored("[8, 8]")] = None
    """Only for IMC."""
    bit_serial_precision: Annotated[Real, Written("a number", "0", need=Need.IGNORED)] = 0.0
    """Must be 0."""
    adc_resolution: Annotated[Real, Written("a number", "0", need=Need.IGNORED)] = 0.0
    """Must be 0."""
    technology: Annotated[object, Written("anything", "22", need=Need.REFUSED)] = None
    """Only with `is_imc: true`."""
    supply_voltage: Annotated[object, Written("anything", "0.8", need=Need.REFUSED)] = None
    """Only with `is_imc: true`."""


class ImcArrayFields(_AnyArray, frozen=True, title="Array that computes in memory"):
    """With `is_imc: true` energy, area and clock follow from the circuits: see [IMC](imc.md).

    One of the memories must be called `cells`; it holds the weights of a unit. It has one input
    operand, is the innermost memory, exists in each unit (`served_dimensions: []`), and its `size`
    is a whole number of weights. Its `area` is that of the cells of a unit; 0 leaves it out.
    """

    dimensions: _Sides
    """Names of two or more sides. In the order of their names, the first is the columns (outputs),
    the second the rows (inputs that are accumulated; a power of two in a digital array), and all
    others together are the banks."""
    unit_energy: Annotated[Energy, Written(example="0.04", need=Need.IGNORED)] = 0.0
    """It follows from the circuits."""
    unit_area: Annotated[Area, Written(example="0.0001", need=Need.IGNORED)] = 0.0
    """It follows from the circuits."""
    clock_period: Annotated[Period | None, Written(example="1.25", need=Need.REFUSED)] = None
    """The clock follows from the circuits."""
    systolic_dimensions: Annotated[ArrayDimensions, Written(example="[D1]", need=Need.IGNORED)] = ()
    """It follows from the circuits."""
    holds_inputs: Annotated[Switch, Written(example="true", need=Need.IGNORED)] = True
    """Must be `true`."""
    is_imc: Annotated[Switch, Written(example="true")]
    """`true`."""
    imc_type: Annotated[ImcKind, Written(example="analog")]
    """How the array accumulates: currents on bit lines (analog), or adder trees next to the cells
    (digital)."""
    input_precision: Annotated[
        tuple[_Precision, _Precision],
        Written("[activation precision, weight precision] in bit", "[8, 8]"),
    ]
    """Bits of an activation and of a weight, each a power of two, at most 1024."""
    bit_serial_precision: Annotated[_Precision, Written(example="2")]
    """Bits of an activation that enter per cycle, at most the activation precision."""
    adc_resolution: Annotated[
        Number, Field(le=_LARGEST_RESOLUTION), Written("a resolution in bit, not negative", "8")
    ] = 0
    """Resolution of the converters at the bit lines, at most 32; must be 0 in a digital array. With
    0 they cost nothing."""
    technology: Annotated[Technology, Written(example="22", origin=Origin.NESTMAP)] = 28.0
    """The technology node of the array."""
    supply_voltage: Annotated[
        Real | None,
        Written(
            "a supply voltage in V",
            "0.8",
            otherwise="the nominal voltage of the node: 0.9 at 28 nm",
            origin=Origin.NESTMAP,
        ),
    ] = None
    """Supply voltage, more than a third of the nominal voltage of the node."""


def _kind_of(given: object) -> str:
    """The tag of the fields that describe an array."""
    is_imc = isinstance(given, Mapping) and cast("Mapping[str, object]", given).get("is_imc")
    return "imc" if is_imc is True else "array"


AnyArrayFields = Annotated[
    Annotated[ArrayFields, Tag("array")] | Annotated[ImcArrayFields, Tag("imc")],
    Discriminator(_kind_of),
]


def array_of(node: Node, given: ArrayFields | ImcArrayFields) -> OperationalArray:
    """The array that the fields of ``node`` describe.

    Raises:
        InputError: if they contradict each other; the error names line and field.
    """
    if isinstance(given, ImcArrayFields):
        return _imc_array(node, given)
    _check_no_circuits(node, given)
    sides = _sides(node, given)
    with node.locate_errors():
        return OperationalArray(
            sides=sides,
            unit_energy=given.unit_energy,
            unit_area=given.unit_area,
            unit_leakage=given.unit_leakage,
            clock_period=given.clock_period,
            systolic_dimensions=given.systolic_dimensions,
            holds_inputs=given.holds_inputs,
            zero_gating=given.zero_gating,
            zero_skipping=given.zero_skipping,
            hop_energy=given.hop_energy,
            hop_bandwidth=given.hop_bandwidth,
        )


def _check_no_circuits(node: Node, given: ArrayFields) -> None:
    """Zeros are accepted, because ZigZag's own files have them."""
    circuits = {
        "imc_type": given.imc_type,
        "technology": given.technology,
        "supply_voltage": given.supply_voltage,
    }
    for name, value in circuits.items():
        if value is not None:
            raise node.at(name).error(f"is_imc: true with {name}")
    precisions = {
        "bit_serial_precision": given.bit_serial_precision,
        "adc_resolution": given.adc_resolution,
    }
    for name, bits in precisions.items():
        if bits:
            raise node.at(name).error(f"is_imc: true with {name}, or 0")


def _imc_array(node: Node, given: ImcArrayFields) -> OperationalArray:
    """An IMC array, whose costs and clock follow from its circuits.

    Stated energy, area and systolic dimensions are checked but ignored, as in ZigZag.
    """
    sides = _sides(node, given)
    if given.clock_period is not None:
        expected = "no clock_period: the circuits of an IMC array set it"
        raise node.at("clock_period").error(expected)
    if not given.holds_inputs:
        raise node.at("holds_inputs").error("true for an IMC array")
    imc = _circuits(node, given)
    with node.at("sizes").locate_errors():
        return OperationalArray(
            sides=sides, unit_energy=0.0, unit_leakage=given.unit_leakage, imc=imc
        )


def _sides(node: Node, given: _AnyArray) -> tuple[ArraySide, ...]:
    names, sizes = given.dimensions, given.sizes
    if not names:
        raise node.at("dimensions").error("at least one array dimension")
    if len(sizes) != len(names):
        expected = f"one size for each of {len(names)} dimensions"
        raise node.at("sizes").error(expected, f"{len(sizes)} sizes")
    check_known(node, "systolic_dimensions", given.systolic_dimensions, names)
    return tuple(ArraySide(name=d, size=n) for d, n in zip(names, sizes, strict=True))


def _circuits(node: Node, given: ImcArrayFields) -> InMemoryCompute:
    """The circuits in the given technology, at the given or the nominal voltage."""
    from nestmap.costmodel.technology import nominal_voltage  # noqa: PLC0415 (imports numba)

    activation, weight = given.input_precision
    if given.bit_serial_precision > activation:
        expected = f"at most the activation precision, {activation} bit"
        raise node.at("bit_serial_precision").error(expected)
    if given.adc_resolution and given.imc_type is ImcKind.DIGITAL:
        raise node.at("adc_resolution").error("0 for a digital array: it has no converters")
    imc = InMemoryCompute(
        kind=given.imc_type,
        activation_precision=activation,
        weight_precision=weight,
        bit_serial_precision=given.bit_serial_precision,
        adc_resolution=given.adc_resolution,
        technology=given.technology,
        supply_voltage=nominal_voltage(given.technology),
    )
    return imc if given.supply_voltage is None else _at_voltage(imc, node, given.supply_voltage)


def _at_voltage(imc: InMemoryCompute, node: Node, volts: float) -> InMemoryCompute:
    from nestmap.costmodel.imc.blocks import SupplyVoltageError, circuits_of  # noqa: PLC0415 (imports numba)

    place = node.at("supply_voltage")
    with place.locate_errors():
        imc = copy_with(imc, {"supply_voltage": volts})
    try:
        circuits_of(imc)
    except SupplyVoltageError as error:
        found, _, expected = str(error).partition("; expected ")
        raise place.error(expected, found) from None
    return imc
