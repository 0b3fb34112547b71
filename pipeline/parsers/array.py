"""Reads the operational array of an accelerator description."""

from __future__ import annotations

from typing import Final

from nestmap.model import ArraySide, OperationalArray
from nestmap.pipeline.parsers.imc import IMC_FIELDS, check_no_imc, parse_imc
from nestmap.pipeline.parsers.node import Node
from nestmap.pipeline.parsers.quantities import ARRAY_DIMENSION, area, energy, period, power

_SIZES: Final = ("dimensions", "sizes")
_FIGURES: Final = (
    *("unit_energy", "unit_area", "unit_leakage", "clock_period"),
    *("systolic_dimensions", "holds_inputs", "is_imc"),
)


def parse_array(node: Node) -> OperationalArray:
    """The array that the field ``operational_array`` describes.

    Raises:
        InputError: where it is not such a description; it names the line and the field.
    """
    switch = node.entries().get("is_imc")
    if switch is not None and not switch.is_null and switch.boolean():
        return _imc_array(node)
    fields = node.fields((*_SIZES, "unit_energy"), (*_FIGURES, *IMC_FIELDS))
    check_no_imc(fields)
    sides = _sides(fields["dimensions"], fields["sizes"])
    holds_inputs = fields.get("holds_inputs")
    with node.checking():
        return OperationalArray(
            sides=sides,
            unit_energy=energy(fields["unit_energy"]),
            unit_area=area(fields["unit_area"]) if "unit_area" in fields else 0.0,
            unit_leakage=power(fields["unit_leakage"]) if "unit_leakage" in fields else 0.0,
            clock_period=period(fields["clock_period"]) if "clock_period" in fields else None,
            systolic_dimensions=_systolic(fields.get("systolic_dimensions"), sides),
            holds_inputs=holds_inputs.boolean() if holds_inputs else True,
        )


def _imc_array(node: Node) -> OperationalArray:
    """An array that computes in memory: its circuits decide what it costs, and its clock.

    Energy, area and systolic dimensions beside that are read and left out, as ZigZag does.
    """
    fields = node.fields(_SIZES, (*_FIGURES, *IMC_FIELDS))
    sides = _sides(fields["dimensions"], fields["sizes"])
    if "unit_energy" in fields:
        energy(fields["unit_energy"])
    if "unit_area" in fields:
        area(fields["unit_area"])
    _systolic(fields.get("systolic_dimensions"), sides)
    if "clock_period" in fields:
        raise fields["clock_period"].error("none for an IMC array: its circuits decide")
    if "holds_inputs" in fields and not fields["holds_inputs"].boolean():
        raise fields["holds_inputs"].error("true for an IMC array")
    imc = parse_imc(node, fields)
    with fields["sizes"].checking():
        return OperationalArray(
            sides=sides,
            unit_energy=0.0,
            unit_leakage=power(fields["unit_leakage"]) if "unit_leakage" in fields else 0.0,
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
