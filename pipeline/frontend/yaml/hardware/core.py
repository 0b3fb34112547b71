"""Reads the cores of multi-core accelerators; each is described like an accelerator."""

from collections.abc import Iterable
from enum import StrEnum
from pathlib import Path
from typing import Final

from nestmap.model import ArraySide, MemoryLevel, OperationalArray, SpatialMapping
from nestmap.model.base import copy_with
from nestmap.model.multicore.accelerator import ComputeCore, CoreId, StorageCore
from nestmap.pipeline.frontend.yaml.field_schema import Field, Need, Origin, Section, one_of
from nestmap.pipeline.frontend.yaml.hardware.accelerator import (
    AREA_UNIT,
    ARRAY_FIELD,
    FREE_FIRST_SUM,
    MEMORIES,
    NAME,
    STATIC_ENERGY,
    STRICT_PORTS,
    TECHNOLOGY,
    VECTOR_UNIT_FIELD,
    accelerator_of,
)
from nestmap.pipeline.frontend.yaml.hardware.cacti import cacti_cost
from nestmap.pipeline.frontend.yaml.hardware.former_format import in_todays_format
from nestmap.pipeline.frontend.yaml.hardware.memory import SERVED_DIMENSIONS, parse_memory
from nestmap.pipeline.frontend.yaml.hardware.memory_cost import CactiClient, CostSources
from nestmap.pipeline.frontend.yaml.layer import operator_type
from nestmap.pipeline.frontend.yaml.load import read_yaml
from nestmap.pipeline.frontend.yaml.located_node import Node, is_name
from nestmap.pipeline.frontend.yaml.mapping import parse_spatial_mapping
from nestmap.pipeline.frontend.yaml.quantities import technology


class CoreType(StrEnum):
    """The type of a core, as named in Stream's files."""

    COMPUTE = "compute"
    ZIGZAG_COMPUTE = "zigzag.compute"
    MEMORY = "memory"
    ZIGZAG_MEMORY = "zigzag.memory"
    OFFCHIP = "offchip"
    ZIGZAG_OFFCHIP = "zigzag.offchip"

    @property
    def computes(self) -> bool:
        """Whether a core of this type computes."""
        return self in (CoreType.COMPUTE, CoreType.ZIGZAG_COMPUTE)


_COMPUTING: Final = "`compute` or `zigzag.compute`: the core computes"
_STORING: Final = (
    "`offchip`, `zigzag.offchip`, `memory` or `zigzag.memory`: the core stores. All four mean the "
    "same; `offchip_core_id` selects the off-chip core"
)
_TYPE: Final = Field(
    "type",
    _COMPUTING,
    one_of(CoreType),
    "zigzag.compute",
    Need.OPTIONAL,
    default="compute",
    origin=Origin.STREAM,
)
_STORAGE_TYPE: Final = Field(
    _TYPE.name,
    _STORING,
    _TYPE.kind,
    "zigzag.offchip",
    Need.OPTIONAL,
    otherwise="`offchip` in the file of `offchip_core`, else `compute`",
    origin=Origin.STREAM,
)
_DATAFLOWS: Final = Field(
    "dataflows",
    "the [spatial mappings](#unrolled-loops) that the core supports, one or a list",
    "lists of loops by array dimension, such as D1: [...], or a list of these",
    '{D1: ["K, 16"], D2: ["C, 4"]}',
    Need.OPTIONAL,
    otherwise="any",
)
_OPERATORS: Final = Field(
    "operator_types",
    "the operators that the core runs, if restricted. Vector operators (pooling, activations, "
    "additions) run only on cores that list them",
    "a list of operator types such as Conv",
    "[Conv, Gemm, MatMul]",
    Need.OPTIONAL,
    otherwise="all layers",
    origin=Origin.STREAM,
)
_PRECISION: Final = Field(
    "operand_precision",
    "precisions are those of the network",
    "anything",
    "{input: int8, accumulator: int32}",
    Need.IGNORED,
    origin=Origin.STREAM,
)
_BANKS: Final = Field(
    "banks",
    "the organization of memories",
    "anything",
    "{count: 4, width: 32}",
    Need.IGNORED,
    origin=Origin.STREAM,
)
_NO_ARRAY: Final = Field(
    ARRAY_FIELD.name,
    "an array that does not compute: its sizes are 0",
    "anything",
    "{dimensions: [D1, D2], sizes: [0, 0], unit_energy: 0}",
    Need.IGNORED,
)

CORE: Final = Section(
    "Core that computes",
    (),
    "Like the root of an accelerator, with the operators and dataflows of the core. Its memories "
    "are on-chip; the outermost one of each memory operand holds the tensors that cores exchange.",
    (
        *(NAME, MEMORIES, ARRAY_FIELD, _TYPE, _OPERATORS, _DATAFLOWS),
        *(
            VECTOR_UNIT_FIELD,
            TECHNOLOGY,
            STATIC_ENERGY,
            AREA_UNIT,
            FREE_FIRST_SUM,
            STRICT_PORTS,
            _PRECISION,
            _BANKS,
        ),
    ),
)
STORAGE_CORE: Final = Section(
    "Core that stores",
    (),
    "The off-chip memory, or an on-chip memory shared by other cores. Each memory operand is in at "
    "most one memory; `served_dimensions` are ignored.",
    (NAME, MEMORIES, _STORAGE_TYPE, _NO_ARRAY, TECHNOLOGY, _PRECISION, _BANKS),
)

Core = ComputeCore | StorageCore


def parse_core(path: Path, number: CoreId = 0, cacti: CactiClient = cacti_cost) -> Core:
    """The core that a YAML file describes, with the given number.

    Its fields are declared here; ``docs/input-formats.md`` lists them.

    Raises:
        InputError: if the file does not match the schema; the error names line and field.
    """
    return core_of(read_yaml(path), number, CoreType.COMPUTE, cacti)


def parse_offchip_core(path: Path) -> Core:
    """The core that a YAML file describes; a storage core unless the file states another type.

    Raises:
        InputError: if the file does not match the schema; the error names line and field.
    """
    return core_of(read_yaml(path), 0, CoreType.OFFCHIP, cacti_cost)


def core_of(root: Node, number: CoreId, default: CoreType, cacti: CactiClient) -> Core:
    """The core that a YAML mapping describes; ``default`` is its type if the file states none.

    Raises:
        InputError: if it does not match the schema; the error names line and field.
    """
    stated = root.entries(f"the fields {_names()}").get(_TYPE.name)
    kind = default if stated is None or stated.is_null else stated.choice(CoreType)
    root = in_todays_format(root)
    return _compute(root, number, cacti) if kind.computes else _storage(root, number, cacti)


def _names() -> str:
    return ", ".join(field.name for field in CORE.fields)


def _compute(root: Node, number: CoreId, cacti: CactiClient) -> ComputeCore:
    fields = root.fields(CORE)
    operators, flows = fields.get(_OPERATORS), fields.get(_DATAFLOWS)
    accelerator = accelerator_of(root, fields, cacti)
    with (flows or root).locate_errors():
        return ComputeCore(
            id=number,
            accelerator=accelerator,
            dataflows=_dataflows(flows) if flows else (),
            operators=_operators(operators) if operators else (),
        )


def _operators(node: Node) -> tuple[str, ...]:
    names: dict[str, Node] = {}
    for item in node.sequence(_OPERATORS.kind):
        name = operator_type(item)
        if name in names:
            raise item.error("each operator type once", f"a second {name}")
        names[name] = item
    if not names:
        raise node.error(f"{_OPERATORS.kind}, or no such field")
    return tuple(names)


def _dataflows(node: Node) -> tuple[SpatialMapping, ...]:
    if node.is_sequence:
        flows = node.sequence()
        if not flows:
            raise node.error(_DATAFLOWS.kind)
        return tuple(parse_spatial_mapping(item) for item in flows)
    if not node.entries(_DATAFLOWS.kind):
        raise node.error(_DATAFLOWS.kind)
    return (parse_spatial_mapping(node),)


def _storage(root: Node, number: CoreId, cacti: CactiClient) -> StorageCore:
    fields = root.fields(STORAGE_CORE)
    nodes = fields[MEMORIES].entries(MEMORIES.kind)
    if not nodes:
        raise fields[MEMORIES].error("at least one memory")
    if TECHNOLOGY in fields:
        technology(fields[TECHNOLOGY])
    sources = CostSources(fields.get(TECHNOLOGY), cacti)
    array = _no_array(nodes.values())
    memories = tuple(_served(parse_memory(name, x, array, sources)) for name, x in nodes.items())
    with fields[MEMORIES].locate_errors():
        return StorageCore(id=number, name=fields[NAME].text(NAME.kind), memories=memories)


def _served(level: MemoryLevel) -> MemoryLevel:
    """The memory of a storage core, which has no array and so no served dimensions."""
    return copy_with(level, {"served_dimensions": ()})


def _no_array(memories: Iterable[Node]) -> OperationalArray:
    """An array with every side that the memories name: a storage core may name any side."""
    served = (x.entries().get(SERVED_DIMENSIONS.name) for x in memories if x.is_mapping)
    items = (item for node in served if node and node.is_sequence for item in node.sequence())
    names = dict.fromkeys(item.text_or_none() for item in items)
    sides = [name for name in names if name is not None and is_name(name)] or ["D1"]
    return OperationalArray(
        sides=tuple(ArraySide(name=name, size=1) for name in sides), unit_energy=0.0
    )
