"""Reads the memories of an accelerator description."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from nestmap.model import (
    MemoryInstance,
    MemoryLevel,
    MemoryPort,
    Movement,
    OperationalArray,
    PortKind,
    PortUse,
)
from nestmap.pipeline.parsers.node import Node, suggestion
from nestmap.pipeline.parsers.quantities import ARRAY_DIMENSION, area, energy, refuse

_LARGEST_WIDTH: Final = 2**31 - 1
_USE: Final = f"an operand and a movement ({', '.join(Movement)}) such as 'I1, tl'"

# Fields that say how to compute costs.
_UNUSED_FIELDS: Final = ("mem_type",)


def parse_memory(name: str, node: Node, array: OperationalArray) -> MemoryLevel:
    """The memory level that an entry of the field ``memories`` describes.

    Raises:
        InputError: where it is not such a description; it names the line and the field.
    """
    fields = node.fields(
        ("size", "operands", "ports", "served_dimensions"),
        (
            "r_cost",
            "w_cost",
            "area",
            "latency",
            "auto_cost_extraction",
            "force_double_buffering",
            *_UNUSED_FIELDS,
        ),
    )
    operands = fields["operands"].names("a memory operand such as I1")
    if not operands:
        raise fields["operands"].error("at least one memory operand")
    instance = _instance(name, node, fields, operands)
    served = fields["served_dimensions"].names(ARRAY_DIMENSION, array.sizes)
    with node.checking():
        return MemoryLevel(instance=instance, operands=operands, served_dimensions=served)


def _instance(
    name: str, node: Node, fields: dict[str, Node], operands: Collection[str]
) -> MemoryInstance:
    if "auto_cost_extraction" in fields:
        reason = "costs are not computed yet: give r_cost and w_cost in pJ"
        refuse(fields["auto_cost_extraction"], reason)
    for cost in ("r_cost", "w_cost"):
        if cost not in fields:
            raise node.error(f"the field {cost} (pJ per access)", f"no {cost}")
    ports = fields["ports"].sequence()
    if not ports:
        raise fields["ports"].error("at least one port")
    latency = fields.get("latency")
    doubled = fields.get("force_double_buffering")
    with node.checking():
        return MemoryInstance(
            name=name,
            size=fields["size"].integer("a positive number of bits", minimum=1),
            read_energy=energy(fields["r_cost"]),
            write_energy=energy(fields["w_cost"]),
            area=area(fields["area"]) if "area" in fields else 0.0,
            latency=latency.integer("a number of cycles, not negative", minimum=0)
            if latency
            else 1,
            ports=tuple(_port(port, operands) for port in ports),
            double_buffered=doubled.boolean() if doubled else False,
        )


def _port(node: Node, operands: Collection[str]) -> MemoryPort:
    fields = node.fields(("name", "type", "bandwidth_min", "bandwidth_max", "allocation"))
    width = "a positive number of bit/cycle"
    with node.checking():
        return MemoryPort(
            name=fields["name"].text("the name of the port"),
            kind=fields["type"].choice(PortKind),
            width_min=fields["bandwidth_min"].integer(width, minimum=1, maximum=_LARGEST_WIDTH),
            width_max=fields["bandwidth_max"].integer(width, minimum=1, maximum=_LARGEST_WIDTH),
            allocation=tuple(
                _use(item, operands)
                for item in fields["allocation"].sequence(f"a list, each item {_USE}")
            ),
        )


def _use(node: Node, operands: Collection[str]) -> PortUse:
    operand, comma, movement = (part.strip() for part in node.text(_USE).partition(","))
    if not comma or movement not in list(Movement):
        raise node.error(_USE)
    if operand not in operands:
        raise node.error(f"an operand of the memory: {suggestion(operand, operands)}")
    return PortUse(operand=operand, movement=Movement(movement))
