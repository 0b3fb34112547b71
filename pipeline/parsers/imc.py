"""Reads what an in-memory-compute (IMC) array is made of."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from nestmap.model import ImcKind, InMemoryCompute
from nestmap.model.base import replaced
from nestmap.pipeline.parsers.node import Node
from nestmap.pipeline.parsers.quantities import technology, usual_voltage

IMC_FIELDS: Final = (
    *("imc_type", "input_precision", "bit_serial_precision", "adc_resolution"),
    *("technology", "supply_voltage"),
)
"""The fields of ``operational_array`` that describe an IMC array."""

_LARGEST_RESOLUTION: Final = 32
_LARGEST_PRECISION: Final = 1024
_PRECISION: Final = "a precision in bit, a power of two"


def check_no_imc(fields: Mapping[str, Node]) -> None:
    """Checks that an ordinary array is not described as an IMC array.

    ``input_precision`` may be there, as in ZigZag's own files, and zeros may: they mean nothing.

    Raises:
        InputError: at the field of an IMC array.
    """
    for name in ("imc_type", "technology", "supply_voltage"):
        if name in fields:
            raise fields[name].error(f"is_imc: true beside {name}")
    for name in ("bit_serial_precision", "adc_resolution"):
        if name in fields and fields[name].number() != 0:
            raise fields[name].error(f"is_imc: true beside {name}, or 0")


def parse_imc(node: Node, fields: Mapping[str, Node]) -> InMemoryCompute:
    """The arithmetic of the IMC array ``node``; ``fields`` are those of it that are there.

    Raises:
        InputError: where the fields are not such a description; it names the line and the field.
    """
    for name in ("imc_type", "input_precision", "bit_serial_precision"):
        if name not in fields:
            raise node.error(f"the field {name} of an IMC array", f"no {name}")
    kind = fields["imc_type"].choice(ImcKind)
    activation, weight = _precisions(fields["input_precision"])
    resolution = _resolution(fields.get("adc_resolution"), kind)
    imc = InMemoryCompute(
        kind=kind,
        activation_precision=activation,
        weight_precision=weight,
        bit_serial_precision=_slice(fields["bit_serial_precision"], activation),
        adc_resolution=resolution,
    )
    return _built(imc, fields)


def _precisions(node: Node) -> tuple[int, int]:
    expected = "[activation precision, weight precision] in bit"
    items = node.sequence(expected)
    if len(items) != 2:
        raise node.error(expected, f"a list of {len(items)} items")
    activation, weight = (_power_of_two(item) for item in items)
    return activation, weight


def _slice(node: Node, activation: int) -> int:
    """The bits of an activation that enter in a cycle."""
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
    expected = "a resolution in bit, not negative"
    bits = node.integer(expected, minimum=0, maximum=_LARGEST_RESOLUTION)
    if bits and kind is ImcKind.DIGITAL:
        raise node.error("0 for a digital array: it has no converters")
    return bits


def _built(imc: InMemoryCompute, fields: Mapping[str, Node]) -> InMemoryCompute:
    """The same in the technology that the fields name, at its nominal voltage or the given one."""
    if "technology" in fields:
        nm = technology(fields["technology"])
        imc = replaced(imc, {"technology": nm, "supply_voltage": usual_voltage(nm)})
    return _at_voltage(imc, fields["supply_voltage"]) if "supply_voltage" in fields else imc


def _at_voltage(imc: InMemoryCompute, node: Node) -> InMemoryCompute:
    from nestmap.costmodel.imc.blocks import (  # noqa: PLC0415 (imports numba)
        SupplyVoltageError,
        circuits_of,
    )

    volts = node.number("a supply voltage in V", minimum=0)
    with node.checking():
        imc = replaced(imc, {"supply_voltage": volts})
    try:
        circuits_of(imc)
    except SupplyVoltageError as error:
        found, _, expected = str(error).partition("; expected ")
        raise node.error(expected, found) from None
    return imc
