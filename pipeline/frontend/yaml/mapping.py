"""Reads mapping files in ZigZag's YAML schema."""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from nestmap.model import (
    LayerConstraints,
    Loop,
    MappingConstraints,
    OperandLink,
    OrderedLoop,
    PinnedLevels,
    PinnedMemory,
    SpatialMapping,
    Unrolling,
    UnrollingHint,
)
from nestmap.model.mapping.constraints import FieldPlaces, SegmentPin, TileSize
from nestmap.model.multicore.core_constraints import CoreAllocation, CoreMapping
from nestmap.model.multicore.split_options import HintLoop, Hints
from nestmap.pipeline.frontend.given import FieldValues
from nestmap.pipeline.frontend.yaml.file_kind import FileKind
from nestmap.pipeline.frontend.yaml.file_model import LARGEST_COUNT, places_of, read_fields
from nestmap.pipeline.frontend.yaml.load import read_source
from nestmap.pipeline.frontend.yaml.located_node import Node, is_name
from nestmap.pipeline.frontend.yaml.mapping_fields import (
    CORES,
    TILED_LOOP,
    UNROLLED_LOOP,
    MappingFields,
    SegmentFields,
)
from nestmap.pipeline.frontend.yaml.stream_mapping import is_stream_mapping, parse_stream_mapping

_TILES: Final = re.compile(r"all|[1-9][0-9]{0,9}")
_EACH_CORE: Final = f"{TILED_LOOP}; * stands for the cores of core_allocation in inter_core_tiling"
_ITEM: Final = 'a loop dimension and its size, such as [K, 2] or [K, "*"], or "*" alone'


def parse_mapping(source: Path | Sequence[FieldValues]) -> MappingConstraints:
    """The mapping constraints that a YAML file in ZigZag's schema describes, or its entries.

    ``docs/input-formats.md`` lists its fields.

    Raises:
        InputError: if the file does not match the schema; the error names line and field.
    """
    root = read_source(source, FileKind.MAPPING)
    if is_stream_mapping(root):
        parse_stream_mapping(root)  # which may be invalid
        return MappingConstraints()
    entries = _entries(root)
    return MappingConstraints(
        entries=tuple(_constraints(node, given) for node, given in entries),
        segments=tuple(
            _segment(node.at("fused"), given.name, given.fused)
            for node, given in entries
            if given.fused is not None
        ),
    )


def parse_core_mapping(source: Path | Sequence[FieldValues]) -> CoreMapping:
    """The core allocations in a mapping file.

    Entries that mention neither cores nor a dataflow are left out.

    Raises:
        InputError: if the file does not match the schema; the error names line and field.
    """
    root = read_source(source, FileKind.MAPPING)
    if is_stream_mapping(root):
        return parse_stream_mapping(root)
    allocations = (_allocation(node, given) for node, given in _entries(root))
    return CoreMapping(entries=tuple(x for x in allocations if x is not None))


def _entries(root: Node) -> list[tuple[Node, MappingFields]]:
    """The entries of a file, checked to have different targets."""
    entries, taken = list[tuple[Node, MappingFields]](), set[str]()
    for node in root.sequence("a list of mappings, each with a name"):
        given = read_fields(node, MappingFields)
        if given.name in taken:
            raise node.error("one mapping for each name", f"a second mapping for {given.name!r}")
        taken.add(given.name)
        entries.append((node, given))
    return entries


# --- what an entry says of a single core ---


def _constraints(node: Node, given: MappingFields) -> LayerConstraints:
    spatial = given.spatial_mapping
    inner, outer = _ordering(node, given)
    with node.locate_errors():
        return LayerConstraints(
            target=given.name,
            spatial_mapping=None
            if spatial is None
            else spatial_mapping_of(node.at("spatial_mapping"), spatial),
            spatial_hints=tuple(_hints(node, given.spatial_mapping_hint or {})),
            links=tuple(_links(node, given.memory_operand_links or {})),
            temporal_ordering=inner,
            outer_ordering=outer,
            memory_levels=tuple(_levels(node, given, len(inner) + len(outer))),
            dataflow=given.dataflow,
            places=places_of(node),
        )


def spatial_mapping_of(node: Node, given: Mapping[str, Sequence[str]]) -> SpatialMapping:
    """The unrolled loops that ``node`` states by array dimension, such as "K, 32".

    Raises:
        InputError: if a text has another form; the error names line and field.
    """
    unrollings = (
        Unrolling(array_dimension=name, loops=tuple(_unrolled(node, name, texts)))
        for name, texts in given.items()
    )
    return SpatialMapping(unrollings=tuple(unrollings))


def _unrolled(node: Node, name: str, texts: Sequence[str]) -> Iterator[Loop]:
    taken: set[str] = set()
    for i, text in enumerate(texts):
        dimension, factor = (part.strip() for part in text.split(","))
        if int(factor) > LARGEST_COUNT:
            raise node.at(name, i).error(UNROLLED_LOOP)
        loop = Loop(dimension=dimension.upper(), size=int(factor))
        if loop.dimension in taken:
            found = f"a second unrolling of {loop.dimension}"
            raise node.at(name, i).error("each loop dimension once", found)
        taken.add(loop.dimension)
        yield loop


def _hints(node: Node, given: Mapping[str, Sequence[str]]) -> Iterator[UnrollingHint]:
    for name, loops in given.items():
        if not loops:
            place = node.at("spatial_mapping_hint", name)
            raise place.error("at least one loop dimension, or no hint", "an empty list")
        dimensions = tuple(dimension.upper() for dimension in loops)
        yield UnrollingHint(array_dimension=name, dimensions=dimensions)


def _links(node: Node, given: Mapping[str, str]) -> Iterator[OperandLink]:
    carried: dict[str, str] = {}
    for operand, memory_operand in given.items():
        if memory_operand in carried:
            raise node.at("memory_operand_links", operand).error(
                "a different memory operand for each layer operand",
                f"{memory_operand}, which already carries {carried[memory_operand]}",
            )
        carried[memory_operand] = operand
        yield OperandLink(operand=operand, memory_operand=memory_operand)


_Order = tuple[OrderedLoop, ...]


def _ordering(node: Node, given: MappingFields) -> tuple[_Order, _Order]:
    """The items before the wildcard (all items without one), and those after it."""
    items = node.at("temporal_ordering").sequence() if given.temporal_ordering else ()
    wild = [i for i, item in enumerate(items) if _is_wildcard(item)]
    if len(wild) > 1:
        expected = "one wildcard between the innermost and the outermost loops"
        raise items[wild[1]].error(expected, 'a second "*"')
    middle = wild[0] if wild else len(items)
    inner, outer = items[:middle], items[middle + 1 :]
    return tuple(map(_ordered_loop, inner)), tuple(map(_ordered_loop, outer))


def _is_wildcard(item: Node) -> bool:
    if item.is_sequence:
        parts = item.sequence()
        return len(parts) == 1 and parts[0].is_text("*")
    return item.is_text("*")


def _ordered_loop(node: Node) -> OrderedLoop:
    parts = node.sequence(_ITEM)
    if len(parts) != 2:
        raise node.error(_ITEM, f"a list of {len(parts)} items")
    dimension = parts[0].name("a loop dimension such as K").upper()
    if parts[1].is_text("*"):
        return OrderedLoop(dimension=dimension)
    size = parts[1].integer('a positive loop size or "*"', minimum=1, maximum=LARGEST_COUNT)
    return OrderedLoop(dimension=dimension, size=size)


def _levels(node: Node, given: MappingFields, loops: int) -> Iterator[PinnedLevels]:
    for operand, memories in given.memory_levels.items():
        for memory, number in memories.items():
            if number > loops:
                expected = f"a number of items of temporal_ordering, at most {loops}"
                raise node.at("memory_levels", operand, memory).error(expected)
        pinned = (PinnedMemory(memory=name, loops=number) for name, number in memories.items())
        yield PinnedLevels(operand=operand, memories=tuple(pinned))


def _segment(node: Node, layer: str, given: SegmentFields) -> SegmentPin:
    """The segment that ends with a layer."""
    if given.first is None and given.model_fields_set:
        raise node.error("first, or no other field", "no first")
    if given.tiles is not None and not given.tiles:
        raise node.at("tiles").error("sizes by loop dimension such as OY: 4")
    sizes, again = (given.tiles or {}).items(), given.recomputed
    return SegmentPin(
        last=layer,
        first=given.first,
        tiles=tuple(TileSize(dimension=d.upper(), size=size) for d, size in sizes),
        recomputed=None if again is None else tuple(d.upper() for d in again),
        home=given.home,
        weights=given.weights,
        inputs=given.inputs,
        places=FieldPlaces(known=(("fused", node.where),) if node.line else ()),
    )


# --- what an entry says of several cores ---

_OF_CORES: Final = (
    *("core_allocation", "core_allocation_is_fixed", "intra_core_tiling", "inter_core_tiling"),
    "dataflow",
)


def _allocation(node: Node, given: MappingFields) -> CoreAllocation | None:
    """The core allocation of an entry; ``None`` if it mentions no cores and no dataflow."""
    stated = [x for x in _OF_CORES if x in given.model_fields_set]
    if not stated:
        return None
    cores = given.core_allocation
    if given.core_allocation_is_fixed and cores is None:
        place = node.at("core_allocation_is_fixed")
        raise place.error("false, or core_allocation in the same entry")
    if cores is not None and not cores:
        raise node.at("core_allocation").error(CORES)
    with node.at(stated[0]).locate_errors():
        allocation = CoreAllocation(
            target=given.name,
            cores=cores or (),
            fixed=given.core_allocation_is_fixed,
            intra=_tiling(node, "intra_core_tiling", given.intra_core_tiling or ()),
            inter=_tiling(node, "inter_core_tiling", given.inter_core_tiling or (), cores or ()),
            dataflow=given.dataflow,
            places=places_of(node),
        )
    return allocation if allocation.cores or allocation.hints or allocation.dataflow else None


def _tiling(node: Node, field: str, texts: Sequence[str], cores: Collection[int] = ()) -> Hints:
    loops = list[HintLoop]()
    for i, text in enumerate(texts):
        dimension, _, tiles = (part.strip() for part in text.partition(","))
        if tiles == "*" and cores:
            tiles = str(len(set(cores)))
        if not is_name(dimension) or not _TILES.fullmatch(tiles):
            raise node.at(field, i).error(_EACH_CORE if tiles == "*" else TILED_LOOP)
        if tiles != "all" and int(tiles) > LARGEST_COUNT:
            raise node.at(field, i).error(f"{TILED_LOOP}, at most {LARGEST_COUNT}")
        number = None if tiles == "all" else int(tiles)
        loops.append(HintLoop(dimension=dimension.upper(), tiles=number))
    return tuple(loops)
