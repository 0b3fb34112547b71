"""Reads descriptions of single-core accelerators in ZigZag's YAML schema."""

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Final

from pydantic import ValidationError

from nestmap.model import IMC_CELLS, Accelerator, MemoryLevel, OperationalArray
from nestmap.model.errors import violation
from nestmap.model.units import AreaUnit
from nestmap.pipeline.frontend.given import FieldValues
from nestmap.pipeline.frontend.yaml.field_schema import Field, Need, Origin, Section, one_of
from nestmap.pipeline.frontend.yaml.file_kind import FileKind
from nestmap.pipeline.frontend.yaml.hardware.array import parse_array
from nestmap.pipeline.frontend.yaml.hardware.cacti import cacti_cost
from nestmap.pipeline.frontend.yaml.hardware.former_format import in_todays_format
from nestmap.pipeline.frontend.yaml.hardware.memory import parse_memory
from nestmap.pipeline.frontend.yaml.hardware.memory_cost import (
    DEFAULT_TECHNOLOGY,
    CactiClient,
    CostSources,
)
from nestmap.pipeline.frontend.yaml.hardware.vector_unit import VECTOR_UNIT, parse_vector_unit
from nestmap.pipeline.frontend.yaml.load import read_source
from nestmap.pipeline.frontend.yaml.located_node import Node
from nestmap.pipeline.frontend.yaml.quantities import NODE, SWITCH, technology

NAME: Final = Field("name", "its name in reports", "the name of the accelerator", "small")
MEMORIES: Final = Field(
    "memories", "the [memories](#memory) by name", "memories by name, innermost first", ""
)
ARRAY_FIELD: Final = Field(
    "operational_array",
    "the compute units: an [ordinary array](#operational-array) or "
    "[one that computes in memory](#array-that-computes-in-memory)",
    "names with values",
    "",
)
_DATAFLOWS: Final = Field(
    "dataflows", "mappings are in the mapping file", "anything", "{D1: [K]}", Need.IGNORED
)
VECTOR_UNIT_FIELD: Final = Field(
    VECTOR_UNIT.at[0],
    "the [unit](#vector-unit) that computes pooling, activations and other vector operators",
    "the fields",
    "",
    Need.OPTIONAL,
    otherwise="no vector unit: vector operators cost only their traffic",
    origin=Origin.NESTMAP,
)
TECHNOLOGY: Final = Field(
    "technology",
    "the technology node of all memories whose costs are computed",
    NODE,
    "28",
    Need.OPTIONAL,
    default=f"{DEFAULT_TECHNOLOGY:g}",
    origin=Origin.NESTMAP,
)
STATIC_ENERGY: Final = Field(
    "static_energy",
    "whether energies include leakage (also `--static-energy`); requires a clock and a component "
    "that leaks",
    SWITCH,
    "true",
    Need.OPTIONAL,
    default="false",
    origin=Origin.NESTMAP,
)

AREA_UNIT: Final = Field(
    "area_unit",
    "the unit of all areas of the description; `nestmap query designs` compares areas in mm2 only",
    one_of(AreaUnit),
    "mm2",
    Need.OPTIONAL,
    otherwise="areas without a unit, as in ZigZag",
    origin=Origin.NESTMAP,
)
FREE_FIRST_SUM: Final = Field(
    "free_first_sum",
    "whether sums begin without a read: no memory reads a partial sum before it was written; with "
    "`false` the zeros that sums begin with are read wherever partial sums are, as in ZigZag",
    SWITCH,
    "true",
    Need.OPTIONAL,
    default="false",
    origin=Origin.NESTMAP,
)
STRICT_PORTS: Final = Field(
    "strict_ports",
    "whether a layer takes at least as many cycles as each port is busy, as it always does unless "
    "`--reference` counts as ZigZag does; there loads may overlap on a port with `false`",
    SWITCH,
    "true",
    Need.OPTIONAL,
    default="false",
    origin=Origin.NESTMAP,
)

_SEVERAL_CORES: Final = "cores"

ACCELERATOR: Final = Section(
    "Root of an accelerator",
    (),
    "The array, and the memories that feed it.",
    (
        NAME,
        MEMORIES,
        ARRAY_FIELD,
        _DATAFLOWS,
        VECTOR_UNIT_FIELD,
        TECHNOLOGY,
        STATIC_ENERGY,
        AREA_UNIT,
        FREE_FIRST_SUM,
        STRICT_PORTS,
    ),
)


def parse_accelerator(source: Path | FieldValues, cacti: CactiClient = cacti_cost) -> Accelerator:
    """The accelerator that a YAML file in ZigZag's schema describes, or its fields.

    Its fields are declared here and in the modules that are imported (``Section``);
    ``docs/input-formats.md`` lists them. ``cacti`` computes memory costs with CACTI.

    Raises:
        InputError: if the file does not match the schema; the error names line and field.
    """
    root = read_source(source, FileKind.ACCELERATOR)
    names = ", ".join(field.name for field in ACCELERATOR.fields)
    several = root.entries(f"the fields {names}").get(_SEVERAL_CORES)
    if several is not None:
        raise several.error(
            "a single-core accelerator; for several cores use nestmap stream or nestmap split",
            "several cores",
        )
    root = in_todays_format(root)
    return accelerator_of(root, root.fields(ACCELERATOR), cacti)


def accelerator_of(root: Node, fields: Mapping[Field, Node], cacti: CactiClient) -> Accelerator:
    """The accelerator that the fields of ``root`` describe, those of :data:`ACCELERATOR` or a core.

    Raises:
        InputError: if they do not describe an accelerator; the error names line and field.
    """
    name = fields[NAME].text(NAME.kind)
    array = parse_array(fields[ARRAY_FIELD])
    nodes = fields[MEMORIES].entries(MEMORIES.kind)
    if not nodes:
        raise fields[MEMORIES].error("at least one memory")
    if array.imc is not None and IMC_CELLS not in nodes:
        expected = f"a memory {IMC_CELLS} that holds the weights in each unit of an IMC array"
        raise fields[MEMORIES].error(expected, f"{', '.join(nodes)}")
    if TECHNOLOGY in fields:
        technology(fields[TECHNOLOGY])
    sources = CostSources(fields.get(TECHNOLOGY), cacti)
    memories = tuple(parse_memory(memory, node, array, sources) for memory, node in nodes.items())
    counts_leakage = _counts_leakage(fields.get(STATIC_ENERGY), array, memories)
    free_first, strict = fields.get(FREE_FIRST_SUM), fields.get(STRICT_PORTS)
    unit = (
        parse_vector_unit(fields[VECTOR_UNIT_FIELD], memories)
        if VECTOR_UNIT_FIELD in fields
        else None
    )
    try:
        return Accelerator(
            name=name,
            array=array,
            memories=memories,
            vector_unit=unit,
            counts_leakage=counts_leakage,
            area_unit=fields[AREA_UNIT].choice(AreaUnit) if AREA_UNIT in fields else None,
            free_first_sum=free_first.boolean() if free_first else False,
            strict_ports=strict.boolean() if strict else False,
        )
    except ValidationError as error:
        found, expected = violation(error)
        raise _accused(found, nodes, root).error(expected, found) from None


def _accused(found: str, memories: dict[str, Node], root: Node) -> Node:
    """The memory named at the start of an error about the hierarchy; the root if there is none."""
    named = [name for name in memories if found.startswith(f"memory {name} ")]
    return memories[max(named, key=len)] if named else root


def _counts_leakage(
    node: Node | None, array: OperationalArray, memories: Collection[MemoryLevel]
) -> bool:
    """Whether energies include static energy.

    This requires a clock, which an IMC array always has, and a component that leaks.
    """
    if node is None or not node.boolean():
        return False
    if array.imc is None and array.clock_period is None:
        raise node.error("false, or clock_period (ns) in operational_array: leakage is a power")
    if not (array.unit_leakage or any(level.instance.leakage for level in memories)):
        raise node.error("false, leakage (mW) of a memory, or unit_leakage (mW) of the array")
    return True
