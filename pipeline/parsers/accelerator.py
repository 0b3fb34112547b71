"""Reads accelerator descriptions in ZigZag's YAML schema."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from pydantic import ValidationError

from nestmap.model import (
    OUTPUT,
    Accelerator,
    MemoryLevel,
    VectorUnit,
)
from nestmap.pipeline.parsers.array import parse_array
from nestmap.pipeline.parsers.memory import parse_memory
from nestmap.pipeline.parsers.node import Node, explained, suggestion
from nestmap.pipeline.parsers.quantities import area, energy
from nestmap.pipeline.parsers.source import read_yaml


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
    array = parse_array(fields["operational_array"])
    nodes = fields["memories"].entries("memories by name, innermost first")
    if not nodes:
        raise fields["memories"].error("at least one memory")
    memories = tuple(parse_memory(memory, node, array) for memory, node in nodes.items())
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


def _vector_unit(node: Node, memories: Collection[MemoryLevel]) -> VectorUnit:
    fields = node.fields(("lanes", "operation_energy"), ("memory", "area"))
    memory = fields.get("memory")
    known = [level.name for level in memories if OUTPUT in level.operands]
    if memory and memory.text("the name of a memory") not in known:
        near = suggestion(memory.text(), known)
        raise memory.error(f"a memory that holds outputs ({OUTPUT}): {near}")
    lanes = "a positive number of operations a cycle"
    with node.checking():
        return VectorUnit(
            lanes=fields["lanes"].integer(lanes, minimum=1, maximum=2**31 - 1),
            operation_energy=energy(fields["operation_energy"]),
            memory=memory.text() if memory else None,
            area=area(fields["area"]) if "area" in fields else 0.0,
        )
