"""Reads the cores of multi-core accelerators; each is described like an accelerator."""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Final

from pydantic import BeforeValidator

from nestmap.model import ArraySide, OperationalArray, SpatialMapping
from nestmap.model.base import copy_with
from nestmap.model.multicore.accelerator import ComputeCore, CoreId, StorageCore
from nestmap.pipeline.frontend.yaml.field_schema import Origin
from nestmap.pipeline.frontend.yaml.file_model import Text, Written, as_list, ignored, read_fields
from nestmap.pipeline.frontend.yaml.hardware.accelerator import (
    AcceleratorFields,
    HardwareFields,
    accelerator_of,
    memories_of,
)
from nestmap.pipeline.frontend.yaml.hardware.cacti import cacti_cost
from nestmap.pipeline.frontend.yaml.hardware.former_format import in_todays_format
from nestmap.pipeline.frontend.yaml.hardware.memory_cost import CactiClient
from nestmap.pipeline.frontend.yaml.layer import check_operator_type
from nestmap.pipeline.frontend.yaml.load import read_yaml
from nestmap.pipeline.frontend.yaml.located_node import Node
from nestmap.pipeline.frontend.yaml.mapping import spatial_mapping_of
from nestmap.pipeline.frontend.yaml.mapping_fields import Unrollings

_OPERATORS: Final = "a list of operator types such as Conv"
_DATAFLOWS: Final = "lists of loops by array dimension, such as D1: [...], or a list of these"
_PRECISION: Final = ignored("{input: int8, accumulator: int32}", Origin.STREAM)
_BANKS: Final = ignored("{count: 4, width: 32}", Origin.STREAM)


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


class CoreFields(AcceleratorFields, frozen=True, title="Core that computes"):
    """Like the root of an accelerator, with the operators and dataflows of the core.

    Its memories are on-chip; the outermost one of each memory operand holds the tensors that cores
    exchange.
    """

    type: Annotated[CoreType, Written(example="zigzag.compute", origin=Origin.STREAM)] = (
        CoreType.COMPUTE
    )
    """`compute` or `zigzag.compute`: the core computes."""
    operator_types: Annotated[
        tuple[Annotated[Text, Written("an operator type such as Conv")], ...] | None,
        Written(_OPERATORS, "[Conv, Gemm, MatMul]", otherwise="all layers", origin=Origin.STREAM),
    ] = None
    """The operators that the core runs, if restricted. Vector operators (pooling, activations,
    additions) run only on cores that list them."""
    dataflows: Annotated[
        tuple[Unrollings, ...] | None,
        BeforeValidator(as_list, json_schema_input_type=tuple[Unrollings, ...] | Unrollings),
        Written(_DATAFLOWS, '{D1: ["K, 16"], D2: ["C, 4"]}', otherwise="any"),
    ] = None
    """The [spatial mappings](#unrolled-loops) that the core supports, one or a list."""
    operand_precision: Annotated[object, _PRECISION] = None
    """Precisions are those of the network."""
    banks: Annotated[object, _BANKS] = None
    """The organization of memories."""


class StorageCoreFields(HardwareFields, frozen=True, title="Core that stores"):
    """The off-chip memory, or an on-chip memory shared by other cores.

    Each memory operand is in at most one memory; `served_dimensions` are ignored.
    """

    type: Annotated[
        CoreType | None,
        Written(
            example="zigzag.offchip",
            otherwise="`offchip` in the file of `offchip_core`, else `compute`",
            origin=Origin.STREAM,
        ),
    ] = None
    """`offchip`, `zigzag.offchip`, `memory` or `zigzag.memory`: the core stores. All four mean the
    same; `offchip_core_id` selects the off-chip core."""
    operational_array: Annotated[
        object, ignored("{dimensions: [D1, D2], sizes: [0, 0], unit_energy: 0}")
    ] = None
    """An array that does not compute: its sizes are 0."""
    operand_precision: Annotated[object, _PRECISION] = None
    """Precisions are those of the network."""
    banks: Annotated[object, _BANKS] = None
    """The organization of memories."""


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
    stated = root.entries(f"the fields {', '.join(CoreFields.model_fields)}").get("type")
    kind = default if stated is None or stated.is_null else stated.choice(CoreType)
    root = in_todays_format(root)
    return _compute(root, number, cacti) if kind.computes else _storage(root, number, cacti)


def _compute(root: Node, number: CoreId, cacti: CactiClient) -> ComputeCore:
    given = read_fields(root, CoreFields)
    accelerator = accelerator_of(root, given, cacti)
    flows = given.dataflows
    with (root if flows is None else root.at("dataflows")).locate_errors():
        return ComputeCore(
            id=number,
            accelerator=accelerator,
            dataflows=() if flows is None else _dataflows(root.at("dataflows"), flows),
            operators=_operators(root, given.operator_types),
        )


def _operators(root: Node, names: Sequence[str] | None) -> tuple[str, ...]:
    if names is None:
        return ()
    for i, name in enumerate(names):
        check_operator_type(name, root, "operator_types", i)
        if name in names[:i]:
            place = root.at("operator_types", i)
            raise place.error("each operator type once", f"a second {name}")
    if not names:
        raise root.at("operator_types").error(f"{_OPERATORS}, or no such field")
    return tuple(names)


def _dataflows(
    node: Node, flows: Sequence[Mapping[str, Sequence[str]]]
) -> tuple[SpatialMapping, ...]:
    nodes = node.sequence() if node.is_sequence else (node,)
    if not flows or not (node.is_sequence or flows[0]):
        raise node.error(_DATAFLOWS)
    return tuple(map(spatial_mapping_of, nodes, flows))


def _storage(root: Node, number: CoreId, cacti: CactiClient) -> StorageCore:
    given = read_fields(root, StorageCoreFields)
    # A storage core has no array: its memories may name any side, and serve none.
    served = (side for memory in given.memories.values() for side in memory.served_dimensions)
    sides = tuple(ArraySide(name=name, size=1) for name in dict.fromkeys((*served, "D1")))
    array = OperationalArray(sides=sides, unit_energy=0.0)
    memories = memories_of(root, given, array, cacti)
    with root.at("memories").locate_errors():
        return StorageCore(
            id=number,
            name=given.name,
            memories=tuple(copy_with(x, {"served_dimensions": ()}) for x in memories),
        )
