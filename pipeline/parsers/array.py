"""Reads the operational array of an accelerator description."""

from __future__ import annotations

from typing import Final

from nestmap.model import ArraySide, OperationalArray
from nestmap.pipeline.parsers.node import Node
from nestmap.pipeline.parsers.quantities import ARRAY_DIMENSION, area, energy, refuse

# Fields that describe in-memory-compute arrays only.
_UNUSED_FIELDS: Final = (
    "input_precision",
    "imc_type",
    "adc_resolution",
    "bit_serial_precision",
)


def parse_array(node: Node) -> OperationalArray:
    """The array that the field ``operational_array`` describes.

    Raises:
        InputError: where it is not such a description; it names the line and the field.
    """
    if "is_imc" in (entries := node.entries()):
        refuse(entries["is_imc"], "in-memory-compute arrays are not supported yet")
    fields = node.fields(
        ("dimensions", "sizes", "unit_energy"),
        ("unit_area", "systolic_dimensions", "holds_inputs", "is_imc", *_UNUSED_FIELDS),
    )
    names = fields["dimensions"].names(ARRAY_DIMENSION)
    if not names:
        raise fields["dimensions"].error("at least one array dimension")
    size = "a positive number of units"
    sizes = [
        item.integer(size, minimum=1, maximum=2**31 - 1) for item in fields["sizes"].sequence()
    ]
    if len(sizes) != len(names):
        raise fields["sizes"].error(
            f"one size for each of {len(names)} dimensions", f"{len(sizes)} sizes"
        )
    systolic = fields.get("systolic_dimensions")
    holds_inputs = fields.get("holds_inputs")
    with node.checking():
        return OperationalArray(
            sides=tuple(ArraySide(name=d, size=n) for d, n in zip(names, sizes, strict=True)),
            unit_energy=energy(fields["unit_energy"]),
            unit_area=area(fields["unit_area"]) if "unit_area" in fields else 0.0,
            systolic_dimensions=systolic.names(ARRAY_DIMENSION, names) if systolic else (),
            holds_inputs=holds_inputs.boolean() if holds_inputs else True,
        )
