"""Reads accelerator descriptions in ZigZag's YAML schema."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from pydantic import ValidationError

from nestmap.model import (
    IMC_CELLS,
    OUTPUT,
    Accelerator,
    MemoryLevel,
    OperationalArray,
    VectorUnit,
)
from nestmap.pipeline.cacti import cacti_cost
from nestmap.pipeline.parsers.array import parse_array
from nestmap.pipeline.parsers.memory import parse_memory
from nestmap.pipeline.parsers.memory_cost import Cacti, CostSources
from nestmap.pipeline.parsers.node import Node, explained, suggestion
from nestmap.pipeline.parsers.quantities import area, energy, technology
from nestmap.pipeline.parsers.source import read_yaml


def parse_accelerator(path: Path, cacti: Cacti = cacti_cost) -> Accelerator:
    """The accelerator that a YAML file in ZigZag's schema describes.

    Memories stand innermost first; sizes are in bits, port widths in bit/cycle, ``r_cost`` and
    ``w_cost`` in pJ per access of a port's full width, ``unit_energy`` in pJ per operation.
    An array with ``is_imc: true`` computes in memory, as its other fields and the memory ``cells``
    say. nestmap's own field ``vector_unit`` (``lanes``, ``operation_energy`` in pJ, ``memory``,
    ``area``) says what computes pooling, activations and the like. Where a memory has ZigZag's
    ``auto_cost_extraction: true``, or nestmap's own ``cost`` (``fitted``, ``cacti``, or a DRAM such
    as ``lpddr4``), its costs are computed; ``technology`` (nm), of a memory or of all, is the node
    it is built in. Who asks CACTI is ``cacti``. With nestmap's own ``static_energy: true`` energies
    include what leaks; an ordinary array needs a ``clock_period`` (ns) for that.

    Raises:
        InputError: where the file is not such a description; it names the line and the field.
    """
    root = read_yaml(path)
    fields = root.fields(
        ("name", "memories", "operational_array"),
        ("dataflows", "vector_unit", "technology", "static_energy"),
    )
    name = fields["name"].text("the name of the accelerator")
    array = parse_array(fields["operational_array"])
    nodes = fields["memories"].entries("memories by name, innermost first")
    if not nodes:
        raise fields["memories"].error("at least one memory")
    if array.imc is not None and IMC_CELLS not in nodes:
        expected = f"a memory {IMC_CELLS} with the weights, in each unit of an IMC array"
        raise fields["memories"].error(expected, f"{', '.join(nodes)}")
    if "technology" in fields:
        technology(fields["technology"])
    sources = CostSources(fields.get("technology"), cacti)
    memories = tuple(parse_memory(memory, node, array, sources) for memory, node in nodes.items())
    counts_leakage = _counts_leakage(fields.get("static_energy"), array, memories)
    unit = _vector_unit(fields["vector_unit"], memories) if "vector_unit" in fields else None
    try:
        return Accelerator(
            name=name,
            array=array,
            memories=memories,
            vector_unit=unit,
            counts_leakage=counts_leakage,
        )
    except ValidationError as error:
        found, expected = explained(error)
        raise _accused(found, nodes, root).error(expected, found) from None


def _accused(found: str, memories: dict[str, Node], root: Node) -> Node:
    """The memory that an error about the whole hierarchy begins with; the root where none."""
    named = [name for name in memories if found.startswith(f"memory {name} ")]
    return memories[max(named, key=len)] if named else root


def _counts_leakage(
    node: Node | None, array: OperationalArray, memories: Collection[MemoryLevel]
) -> bool:
    """Whether static energy counts.

    That needs a clock, which an IMC array has of itself, and something that leaks.
    """
    if node is None or not node.boolean():
        return False
    if array.imc is None and array.clock_period is None:
        raise node.error("false, or clock_period (ns) in operational_array: what leaks takes time")
    if not (array.unit_leakage or any(level.instance.leakage for level in memories)):
        raise node.error("false, or leakage (mW) of some memory, or unit_leakage of the array")
    return True


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
