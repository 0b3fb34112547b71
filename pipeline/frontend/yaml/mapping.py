"""Reads mapping files in ZigZag's YAML schema."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from nestmap.model import (
    LayerConstraints,
    Loop,
    MappingConstraints,
    OperandLink,
    SpatialMapping,
    Unrolling,
    UnrollingHint,
)
from nestmap.model.multicore.core_constraints import CoreMapping
from nestmap.pipeline.frontend.given import FieldValues
from nestmap.pipeline.frontend.yaml.core_allocation import (
    ALLOCATION_FIELDS,
    parse_allocation,
    places_of,
)
from nestmap.pipeline.frontend.yaml.field_schema import ITEM, Entries, Field, Form, Need, Section
from nestmap.pipeline.frontend.yaml.file_kind import FileKind
from nestmap.pipeline.frontend.yaml.fused import FUSED, parse_segment
from nestmap.pipeline.frontend.yaml.load import read_source
from nestmap.pipeline.frontend.yaml.located_node import Node, is_name
from nestmap.pipeline.frontend.yaml.stream_mapping import is_stream_mapping, parse_stream_mapping
from nestmap.pipeline.frontend.yaml.temporal_ordering import (
    DATAFLOW,
    LARGEST_FACTOR,
    MEMORY_LEVELS,
    TEMPORAL_ORDERING,
    parse_dataflow,
    parse_levels,
    parse_ordering,
)

_FACTOR: Final = re.compile(r"[1-9][0-9]{0,9}")
_UNROLLED: Final = "a loop dimension and its unrolling factor, such as 'K, 32'"
_LIST: Final = "a list of mappings, each with a name"
_ARRAY: Final = "lists of loops by array dimension, such as D1: [...]"

_NAME: Final = Field(
    "name",
    "layers that the entry applies to: the layer of that name, else the layers of that operator "
    "type, else, with `default`, all other layers",
    "the name of a layer, an operator type, or default",
    "Conv",
)
_SPATIAL_MAPPING: Final = Field(
    "spatial_mapping",
    "how loops are [unrolled](#unrolled-loops) over the array",
    _ARRAY,
    '{D1: ["K, 32"], D2: ["C, 8", "FX, 3"]}',
    Need.OPTIONAL,
    otherwise="the search decides",
)
_HINTS: Final = Field(
    "spatial_mapping_hint",
    "which loops [may be unrolled](#hints), if there is no `spatial_mapping`",
    _ARRAY,
    "{D1: [K], D2: [C, FX, FY]}",
    Need.OPTIONAL,
    otherwise="any loop may be",
)
_LINKS: Final = Field(
    "memory_operand_links",
    "the memory operand that [carries](#links) each layer operand",
    "memory operands by layer operand, such as W: I2",
    "{O: O, W: I2, I: I1}",
    Need.OPTIONAL,
    otherwise="`{O: O, W: I2, I: I1}` as far as the accelerator has these; other inputs take the "
    "remaining memory operands in order",
)
MAPPING: Final = Section(
    "Mapping entry",
    (ITEM,),
    "A mapping file is a list of entries with different names. Whatever an entry does not fix is "
    "searched.",
    (
        *(_NAME, DATAFLOW, _SPATIAL_MAPPING, _HINTS, _LINKS),
        *(TEMPORAL_ORDERING, MEMORY_LEVELS, FUSED, *ALLOCATION_FIELDS),
    ),
)
UNROLLED: Final = Entries(
    "Unrolled loops",
    (*MAPPING.at, _SPATIAL_MAPPING.name),
    "By array dimension: the loops unrolled along it, each with its factor, 1 to "
    f"{LARGEST_FACTOR}. The product of the factors is at most the units along that dimension.",
    _ARRAY,
    (
        Form('D1: ["K, 4"]', "4 iterations of `K` in parallel along `D1`"),
        Form('D2: ["C, 2", "FX, 3"]', "2 iterations of `C` times 3 of `FX` in parallel along `D2`"),
    ),
)
HINTS: Final = Entries(
    "Hints",
    (*MAPPING.at, _HINTS.name),
    "By array dimension: the loop dimensions that may be unrolled along it. Along array dimensions "
    "without a hint, any loop may be unrolled.",
    _ARRAY,
    (Form("D1: [K, OX]", "only loops over `K` or `OX` along `D1`"),),
)
LINKS: Final = Entries(
    "Links",
    (*MAPPING.at, _LINKS.name),
    "Layers call their operands `O`, `W` and `I` (or as in their equation), memories `O`, `I1` and "
    "`I2`. The output is carried as `O`, each input as another memory operand.",
    _LINKS.kind,
    (Form("W: I2", "the memories of `I2` hold `W`"),),
)


def parse_mapping(source: Path | Sequence[FieldValues]) -> MappingConstraints:
    """The mapping constraints that a YAML file in ZigZag's schema describes, or its entries.

    Its fields are declared here and in
    :mod:`~nestmap.pipeline.frontend.yaml.temporal_ordering`; ``docs/input-formats.md`` lists them.

    Raises:
        InputError: if the file does not match the schema; the error names line and field.
    """
    root = read_source(source, FileKind.MAPPING)
    if is_stream_mapping(root):
        parse_stream_mapping(root)  # which may be invalid
        return MappingConstraints()
    nodes = _entries(root)
    fields = (node.fields(MAPPING) for node in nodes)
    return MappingConstraints(
        entries=tuple(_entry(node) for node in nodes),
        segments=tuple(parse_segment(_target(x), x[FUSED]) for x in fields if FUSED in x),
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
    read = ((_target(fields), fields) for fields in (x.fields(MAPPING) for x in _entries(root)))
    allocations = (parse_allocation(target, fields) for target, fields in read)
    return CoreMapping(entries=tuple(x for x in allocations if x is not None))


def _entries(root: Node) -> tuple[Node, ...]:
    """The entries of a file, checked to have different targets."""
    nodes = root.sequence(_LIST)
    targets: set[str] = set()
    for node in nodes:
        target = _target(node.fields(MAPPING))
        if target in targets:
            raise node.error("one mapping for each name", f"a second mapping for {target!r}")
        targets.add(target)
    return nodes


def _target(fields: Mapping[Field, Node]) -> str:
    return fields[_NAME].text(_NAME.kind)


def _entry(node: Node) -> LayerConstraints:
    fields = node.fields(MAPPING)
    spatial, hints = fields.get(_SPATIAL_MAPPING), fields.get(_HINTS)
    links, ordering = fields.get(_LINKS), fields.get(TEMPORAL_ORDERING)
    inner, outer = parse_ordering(ordering) if ordering else ((), ())
    levels = fields.get(MEMORY_LEVELS)
    with node.locate_errors():
        return LayerConstraints(
            target=_target(fields),
            spatial_mapping=parse_spatial_mapping(spatial) if spatial else None,
            spatial_hints=_hints(hints) if hints else (),
            links=_links(links) if links else (),
            temporal_ordering=inner,
            outer_ordering=outer,
            memory_levels=parse_levels(levels, len(inner) + len(outer)) if levels else (),
            dataflow=parse_dataflow(fields),
            places=places_of(fields),
        )


def parse_spatial_mapping(node: Node) -> SpatialMapping:
    """The unrolled loops by array dimension, in the format :data:`UNROLLED`.

    Raises:
        InputError: if the value has another format; the error names line and field.
    """
    return SpatialMapping(
        unrollings=tuple(
            Unrolling(array_dimension=name, loops=_unrolled(loops))
            for name, loops in node.named(_ARRAY).items()
        )
    )


def _unrolled(node: Node) -> tuple[Loop, ...]:
    loops: dict[str, Loop] = {}
    for item in node.sequence(f"a list, each item {_UNROLLED}"):
        loop = _unrolled_loop(item)
        if loop.dimension in loops:
            raise item.error("each loop dimension once", f"a second unrolling of {loop.dimension}")
        loops[loop.dimension] = loop
    return tuple(loops.values())


def _unrolled_loop(node: Node) -> Loop:
    dimension, _, factor = (part.strip() for part in node.text(_UNROLLED).partition(","))
    if not is_name(dimension) or not _FACTOR.fullmatch(factor) or int(factor) > LARGEST_FACTOR:
        raise node.error(f"{_UNROLLED} (1 to {LARGEST_FACTOR} times)")
    return Loop(dimension=dimension.upper(), size=int(factor))


def _hints(node: Node) -> tuple[UnrollingHint, ...]:
    return tuple(_hint(name, loops) for name, loops in node.named(_ARRAY).items())


def _hint(array_dimension: str, loops: Node) -> UnrollingHint:
    dimensions = tuple(d.upper() for d in loops.names("a loop dimension such as OX"))
    if not dimensions:
        raise loops.error("at least one loop dimension, or no hint", "an empty list")
    return UnrollingHint(array_dimension=array_dimension, dimensions=dimensions)


def _links(node: Node) -> tuple[OperandLink, ...]:
    links: dict[str, OperandLink] = {}
    for operand, item in node.named(_LINKS.kind).items():
        memory_operand = item.name("a memory operand such as I2")
        if memory_operand in links:
            other = links[memory_operand].operand
            raise item.error(
                "a different memory operand for each layer operand",
                f"{memory_operand}, which already carries {other}",
            )
        links[memory_operand] = OperandLink(operand=operand, memory_operand=memory_operand)
    return tuple(links.values())
