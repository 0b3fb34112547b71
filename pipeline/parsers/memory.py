"""Reads the memories of an accelerator description."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final

from nestmap.model import (
    IMC_CELLS,
    MemoryCost,
    MemoryInstance,
    MemoryLevel,
    MemoryPort,
    Movement,
    OperationalArray,
    PortKind,
    PortUse,
)
from nestmap.pipeline.parsers.cells import Bank
from nestmap.pipeline.parsers.memory_cost import COST_FIELDS, Built, CostSources, memory_cost
from nestmap.pipeline.parsers.node import Node, suggestion
from nestmap.pipeline.parsers.quantities import ARRAY_DIMENSION

_LARGEST_WIDTH: Final = 2**31 - 1
_USE: Final = f"an operand and a movement ({', '.join(Movement)}) such as 'I1, tl'"


def parse_memory(
    name: str, node: Node, array: OperationalArray, sources: CostSources
) -> MemoryLevel:
    """The memory level that an entry of the field ``memories`` describes.

    Raises:
        InputError: where it is not such a description; it names the line and the field.
    """
    fields = node.fields(
        ("size", "operands", "ports", "served_dimensions"),
        ("latency", "force_double_buffering", *COST_FIELDS),
    )
    operands = fields["operands"].names("a memory operand such as I1")
    if not operands:
        raise fields["operands"].error("at least one memory operand")
    size = fields["size"].integer("a positive number of bits", minimum=1)
    imc = array.imc if name == IMC_CELLS else None
    bank = Bank(array.imc_sizes, imc) if imc else None
    built = Built(node, size, _ports(fields["ports"], operands), bank)
    instance = _instance(name, fields, built, memory_cost(fields, built, sources))
    served = fields["served_dimensions"].names(ARRAY_DIMENSION, array.sizes)
    with node.checking():
        return MemoryLevel(instance=instance, operands=operands, served_dimensions=served)


def _instance(
    name: str, fields: Mapping[str, Node], built: Built, cost: MemoryCost
) -> MemoryInstance:
    latency = fields.get("latency")
    doubled = fields.get("force_double_buffering")
    cycles = "a number of cycles, not negative"
    with built.node.checking():
        return MemoryInstance(
            name=name,
            size=built.size,
            read_energy=cost.read_energy,
            write_energy=cost.write_energy,
            area=cost.area,
            leakage=cost.leakage,
            latency=latency.integer(cycles, minimum=0) if latency else 1,
            ports=tuple(built.ports),
            double_buffered=doubled.boolean() if doubled else False,
        )


def _ports(node: Node, operands: Collection[str]) -> tuple[MemoryPort, ...]:
    ports = node.sequence()
    if not ports:
        raise node.error("at least one port")
    return tuple(_port(port, operands) for port in ports)


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
