"""Reads descriptions of single-core accelerators in ZigZag's YAML schema."""

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Annotated, Final

from pydantic import ValidationError

from nestmap.model import IMC_CELLS, OUTPUT, Accelerator, MemoryLevel, OperationalArray, VectorUnit
from nestmap.model.errors import suggestion, violation
from nestmap.model.units import AreaUnit
from nestmap.pipeline.frontend.given import FieldValues
from nestmap.pipeline.frontend.yaml.field_schema import Origin
from nestmap.pipeline.frontend.yaml.file_kind import FileKind
from nestmap.pipeline.frontend.yaml.file_model import (
    Area,
    Count,
    Energy,
    FileModel,
    Switch,
    Technology,
    Text,
    Written,
    ignored,
    read_fields,
)
from nestmap.pipeline.frontend.yaml.hardware.array import AnyArrayFields, array_of
from nestmap.pipeline.frontend.yaml.hardware.cacti import cacti_cost
from nestmap.pipeline.frontend.yaml.hardware.former_format import in_todays_format
from nestmap.pipeline.frontend.yaml.hardware.memory import memory_of
from nestmap.pipeline.frontend.yaml.hardware.memory_cost import CactiClient, CostSources
from nestmap.pipeline.frontend.yaml.hardware.memory_fields import DEFAULT_TECHNOLOGY, MemoryFields
from nestmap.pipeline.frontend.yaml.load import read_source
from nestmap.pipeline.frontend.yaml.located_node import Node


class VectorUnitFields(FileModel, frozen=True, title="Vector unit"):
    """Reports show the cost of vector operators; totals include it only with `--count-vector`."""

    at = ("vector_unit",)
    origin = Origin.NESTMAP

    lanes: Annotated[Count, Written("a positive number of operations a cycle", "64")]
    """Scalar operations per cycle."""
    operation_energy: Annotated[Energy, Written(example="0.1")]
    """Energy of one scalar operation."""
    memory: Annotated[
        Text | None,
        Written("the name of a memory", "dram", otherwise="the outermost memory that holds `O`"),
    ] = None
    """The memory that the unit reads and writes, which must hold `O`."""
    area: Annotated[Area, Written(example="0.05")] = 0.0
    """Area of all lanes."""


class HardwareFields(FileModel, frozen=True):
    """What the files of accelerators and of their cores have."""

    name: Annotated[Text, Written("the name of the accelerator", "small")]
    """Its name in reports."""
    memories: Annotated[Mapping[str, MemoryFields], Written("memories by name, innermost first")]
    """The [memories](#memory) by name."""
    technology: Annotated[Technology, Written(example="28", origin=Origin.NESTMAP)] = (
        DEFAULT_TECHNOLOGY
    )
    """The technology node of all memories whose costs are computed."""


class AcceleratorFields(HardwareFields, frozen=True, title="Root of an accelerator"):
    """The array, and the memories that feed it."""

    operational_array: Annotated[AnyArrayFields, Written("the fields")]
    """The compute units: an [ordinary array](#operational-array) or
    [one that computes in memory](#array-that-computes-in-memory)."""
    dataflows: Annotated[object, ignored("{D1: [K]}")] = None
    """Mappings are in the mapping file."""
    vector_unit: Annotated[
        VectorUnitFields | None,
        Written(
            otherwise="no vector unit: vector operators cost only their traffic",
            origin=Origin.NESTMAP,
        ),
    ] = None
    """The [unit](#vector-unit) that computes pooling, activations and other vector operators."""
    static_energy: Annotated[Switch, Written(example="true", origin=Origin.NESTMAP)] = False
    """Whether energies include leakage (also `--static-energy`); requires a clock and a component
    that leaks."""
    area_unit: Annotated[
        AreaUnit | None,
        Written(
            example="mm2", otherwise="areas without a unit, as in ZigZag", origin=Origin.NESTMAP
        ),
    ] = None
    """The unit of all areas of the description; `nestmap query designs` compares areas in mm2
    only."""
    free_first_sum: Annotated[Switch, Written(example="true", origin=Origin.NESTMAP)] = False
    """Whether sums begin without a read: no memory reads a partial sum before it was written; with
    `false` the zeros that sums begin with are read wherever partial sums are, as in ZigZag."""
    strict_ports: Annotated[Switch, Written(example="true", origin=Origin.NESTMAP)] = False
    """Whether a layer takes at least as many cycles as each port is busy, as it always does unless
    `--reference` counts as ZigZag does; there loads may overlap on a port with `false`."""


_SEVERAL_CORES: Final = "cores"


def parse_accelerator(source: Path | FieldValues, cacti: CactiClient = cacti_cost) -> Accelerator:
    """The accelerator that a YAML file in ZigZag's schema describes, or its fields.

    ``docs/input-formats.md`` lists its fields. ``cacti`` computes memory costs with CACTI.

    Raises:
        InputError: if the file does not match the schema; the error names line and field.
    """
    root = read_source(source, FileKind.ACCELERATOR)
    names = ", ".join(AcceleratorFields.model_fields)
    several = root.entries(f"the fields {names}").get(_SEVERAL_CORES)
    if several is not None:
        raise several.error(
            "a single-core accelerator; for several cores use nestmap stream or nestmap split",
            "several cores",
        )
    root = in_todays_format(root)
    return accelerator_of(root, read_fields(root, AcceleratorFields), cacti)


def accelerator_of(root: Node, given: AcceleratorFields, cacti: CactiClient) -> Accelerator:
    """The accelerator that the fields of ``root``, an accelerator or a core, describe.

    Raises:
        InputError: if they do not describe an accelerator; the error names line and field.
    """
    array = array_of(root.at("operational_array"), given.operational_array)
    if array.imc is not None and given.memories and IMC_CELLS not in given.memories:
        expected = f"a memory {IMC_CELLS} that holds the weights in each unit of an IMC array"
        raise root.at("memories").error(expected, f"{', '.join(given.memories)}")
    memories = memories_of(root, given, array, cacti)
    unit = given.vector_unit
    try:
        return Accelerator(
            name=given.name,
            array=array,
            memories=memories,
            vector_unit=_vector_unit(root, unit, memories) if unit else None,
            counts_leakage=given.static_energy and _can_leak(root, array, memories),
            area_unit=given.area_unit,
            free_first_sum=given.free_first_sum,
            strict_ports=given.strict_ports,
        )
    except ValidationError as error:
        found, expected = violation(error)
        raise _accused(found, root).error(expected, found) from None


def memories_of(
    root: Node, given: HardwareFields, array: OperationalArray, cacti: CactiClient
) -> tuple[MemoryLevel, ...]:
    """The memories of an accelerator or a core.

    Raises:
        InputError: if there is none, or one cannot be built; the error names line and field.
    """
    nodes = root.at("memories").entries()
    if not nodes:
        raise root.at("memories").error("at least one memory")
    sources = CostSources(given.technology, cacti)
    memories = given.memories.items()
    return tuple(memory_of(name, nodes[name], x, array, sources) for name, x in memories)


def _vector_unit(
    root: Node, given: VectorUnitFields, memories: Collection[MemoryLevel]
) -> VectorUnit:
    known = [level.name for level in memories if OUTPUT in level.operands]
    if given.memory is not None and given.memory not in known:
        expected = f"a memory that holds outputs ({OUTPUT}): {suggestion(given.memory, known)}"
        raise root.at("vector_unit", "memory").error(expected)
    with root.at("vector_unit").locate_errors():
        return VectorUnit(
            lanes=given.lanes,
            operation_energy=given.operation_energy,
            memory=given.memory,
            area=given.area,
        )


def _accused(found: str, root: Node) -> Node:
    """The memory named at the start of an error about the hierarchy; the root if there is none."""
    memories = root.at("memories").entries()
    named = [name for name in memories if found.startswith(f"memory {name} ")]
    return memories[max(named, key=len)] if named else root


def _can_leak(root: Node, array: OperationalArray, memories: Collection[MemoryLevel]) -> bool:
    """Checks that there is a clock, which an IMC array always has, and a component that leaks."""
    place = root.at("static_energy")
    if array.imc is None and array.clock_period is None:
        raise place.error("false, or clock_period (ns) in operational_array: leakage is a power")
    if not (array.unit_leakage or any(level.instance.leakage for level in memories)):
        raise place.error("false, leakage (mW) of a memory, or unit_leakage (mW) of the array")
    return True
