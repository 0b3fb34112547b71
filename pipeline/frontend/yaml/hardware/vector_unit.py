"""Reads the vector unit of an accelerator description."""

from collections.abc import Collection
from typing import Final

from nestmap.model import OUTPUT, MemoryLevel, VectorUnit
from nestmap.model.errors import suggestion
from nestmap.pipeline.frontend.yaml.field_schema import Field, Need, Origin, Section
from nestmap.pipeline.frontend.yaml.located_node import Node
from nestmap.pipeline.frontend.yaml.quantities import AREA, ENERGY, area, energy

_LANES: Final = Field(
    "lanes",
    "scalar operations per cycle",
    "a positive number of operations a cycle",
    "64",
    origin=Origin.NESTMAP,
)
_OPERATION_ENERGY: Final = Field(
    "operation_energy", "energy of one scalar operation", ENERGY, "0.1", origin=Origin.NESTMAP
)
_MEMORY: Final = Field(
    "memory",
    "the memory that the unit reads and writes, which must hold `O`",
    "the name of a memory",
    "dram",
    Need.OPTIONAL,
    otherwise="the outermost memory that holds `O`",
    origin=Origin.NESTMAP,
)
_AREA: Final = Field(
    "area", "area of all lanes", AREA, "0.05", Need.OPTIONAL, default="0", origin=Origin.NESTMAP
)

VECTOR_UNIT: Final = Section(
    "Vector unit",
    ("vector_unit",),
    "Reports show the cost of vector operators; totals include it only with `--count-vector`.",
    (_LANES, _OPERATION_ENERGY, _MEMORY, _AREA),
)


def parse_vector_unit(node: Node, memories: Collection[MemoryLevel]) -> VectorUnit:
    """The unit that the field ``vector_unit`` describes; ``memories`` are those of the accelerator.

    Raises:
        InputError: if it does not match the schema; the error names line and field.
    """
    fields = node.fields(VECTOR_UNIT)
    memory = fields.get(_MEMORY)
    known = [level.name for level in memories if OUTPUT in level.operands]
    if memory and memory.text(_MEMORY.kind) not in known:
        near = suggestion(memory.text(), known)
        raise memory.error(f"a memory that holds outputs ({OUTPUT}): {near}")
    with node.locate_errors():
        return VectorUnit(
            lanes=fields[_LANES].integer(_LANES.kind, minimum=1, maximum=2**31 - 1),
            operation_energy=energy(fields[_OPERATION_ENERGY]),
            memory=memory.text() if memory else None,
            area=area(fields[_AREA]) if _AREA in fields else 0.0,
        )
