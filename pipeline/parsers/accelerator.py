"""Reads accelerator descriptions in ZigZag's YAML schema."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Final

from pydantic import ValidationError

from nestmap.model import (
    OUTPUT,
    Accelerator,
    ArraySide,
    MemoryInstance,
    MemoryLevel,
    MemoryPort,
    Movement,
    OperationalArray,
    PortKind,
    PortUse,
    VectorUnit,
)
from nestmap.pipeline.parsers.node import Node, explained, suggestion
from nestmap.pipeline.parsers.source import read_yaml

_LARGEST_WIDTH: Final = 2**31 - 1
_DIMENSION: Final = "an array dimension such as D1"
_USE: Final = f"an operand and a movement ({', '.join(Movement)}) such as 'I1, tl'"

# Fields that say how to compute costs (``mem_type``) or describe in-memory-compute arrays only.
_UNUSED_MEMORY_FIELDS: Final = ("mem_type",)
_UNUSED_ARRAY_FIELDS: Final = (
    "input_precision",
    "imc_type",
    "adc_resolution",
    "bit_serial_precision",
)


def parse_accelerator(path: Path) -> Accelerator:
    """The accelerator that a YAML file in ZigZag's schema describes.

    Memories stand innermost first; sizes are in bits, port widths in bit/cycle, ``r_cost`` and
    ``w_cost`` in pJ per access of a port's full width, ``unit_energy`` in pJ per operation.
    nestmap's own field ``vector_unit`` (``lanes``, ``operation_energy`` in pJ, ``memory``,
    ``area``) says what computes pooling, activations and the like.

    Raises:
        InputError: where the file is not such a description; it names the line and the field.
    """
    root = read_yaml(path)
    fields = root.fields(("name", "memories", "operational_array"), ("dataflows", "vector_unit"))
    name = fields["name"].text("the name of the accelerator")
    array = _array(fields["operational_array"])
    nodes = fields["memories"].entries("memories by name, innermost first")
    if not nodes:
        raise fields["memories"].error("at least one memory")
    memories = tuple(_level(memory, node, array) for memory, node in nodes.items())
    unit = _vector_unit(fields["vector_unit"], memories) if "vector_unit" in fields else None
    try:
        return Accelerator(name=name, array=array, memories=memories, vector_unit=unit)
    except ValidationError as error:
        found, expected = explained(error)
        raise _accused(found, nodes, root).error(expected, found) from None


def _accused(found: str, memories: dict[str, Node], root: Node) -> Node:
    """The memory that an error about the whole hierarchy begins with; the root where none."""
    named = [name for name in memories if found.startswith(f"memory {name} ")]
    return memories[max(named, key=len)] if named else root


def _array(node: Node) -> OperationalArray:
    if "is_imc" in (entries := node.entries()):
        _refuse(entries["is_imc"], "in-memory-compute arrays are not supported yet")
    fields = node.fields(
        ("dimensions", "sizes", "unit_energy"),
        ("unit_area", "systolic_dimensions", "holds_inputs", "is_imc", *_UNUSED_ARRAY_FIELDS),
    )
    names = fields["dimensions"].names(_DIMENSION)
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
    area, systolic = fields.get("unit_area"), fields.get("systolic_dimensions")
    holds_inputs = fields.get("holds_inputs")
    with node.checking():
        return OperationalArray(
            sides=tuple(ArraySide(name=d, size=n) for d, n in zip(names, sizes, strict=True)),
            unit_energy=_energy(fields["unit_energy"]),
            unit_area=_area(area) if area else 0.0,
            systolic_dimensions=systolic.names(_DIMENSION, names) if systolic else (),
            holds_inputs=holds_inputs.boolean() if holds_inputs else True,
        )


def _vector_unit(node: Node, memories: Collection[MemoryLevel]) -> VectorUnit:
    fields = node.fields(("lanes", "operation_energy"), ("memory", "area"))
    memory, area = fields.get("memory"), fields.get("area")
    known = [level.name for level in memories if OUTPUT in level.operands]
    if memory and memory.text("the name of a memory") not in known:
        near = suggestion(memory.text(), known)
        raise memory.error(f"a memory that holds outputs ({OUTPUT}): {near}")
    lanes = "a positive number of operations a cycle"
    with node.checking():
        return VectorUnit(
            lanes=fields["lanes"].integer(lanes, minimum=1, maximum=2**31 - 1),
            operation_energy=_energy(fields["operation_energy"]),
            memory=memory.text() if memory else None,
            area=_area(area) if area else 0.0,
        )


def _area(node: Node) -> float:
    return node.number("an area, not negative", minimum=0)


def _refuse(switch: Node, reason: str) -> None:
    if not switch.is_null and switch.boolean():
        raise switch.error(f"false ({reason})")


def _energy(node: Node) -> float:
    return node.number("an energy in pJ, not negative", minimum=0)


def _level(name: str, node: Node, array: OperationalArray) -> MemoryLevel:
    fields = node.fields(
        ("size", "operands", "ports", "served_dimensions"),
        (
            "r_cost",
            "w_cost",
            "area",
            "latency",
            "auto_cost_extraction",
            "force_double_buffering",
            *_UNUSED_MEMORY_FIELDS,
        ),
    )
    operands = fields["operands"].names("a memory operand such as I1")
    if not operands:
        raise fields["operands"].error("at least one memory operand")
    instance = _instance(name, node, fields, operands)
    served = fields["served_dimensions"].names(_DIMENSION, array.sizes)
    with node.checking():
        return MemoryLevel(instance=instance, operands=operands, served_dimensions=served)


def _instance(
    name: str, node: Node, fields: dict[str, Node], operands: Collection[str]
) -> MemoryInstance:
    if "auto_cost_extraction" in fields:
        reason = "costs are not computed yet: give r_cost and w_cost in pJ"
        _refuse(fields["auto_cost_extraction"], reason)
    for cost in ("r_cost", "w_cost"):
        if cost not in fields:
            raise node.error(f"the field {cost} (pJ per access)", f"no {cost}")
    ports = fields["ports"].sequence()
    if not ports:
        raise fields["ports"].error("at least one port")
    area, latency = fields.get("area"), fields.get("latency")
    doubled = fields.get("force_double_buffering")
    with node.checking():
        return MemoryInstance(
            name=name,
            size=fields["size"].integer("a positive number of bits", minimum=1),
            read_energy=_energy(fields["r_cost"]),
            write_energy=_energy(fields["w_cost"]),
            area=_area(area) if area else 0.0,
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
