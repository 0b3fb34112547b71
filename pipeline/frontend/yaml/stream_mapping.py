"""Reads mapping files of present Stream: layers with cores and tilings, and fused groups.

Dimensions are positions (``D6``), whose meaning depends on the operator; they get names where the
network is known (:mod:`nestmap.model.multicore.placed_tilings`).
"""

import re
from collections.abc import Iterator
from typing import Final

from nestmap.model.errors import warn_of_input
from nestmap.model.mapping.constraints import FieldPlaces
from nestmap.model.multicore.core_constraints import (
    CoreAllocation,
    CoreMapping,
    GroupTiling,
    PlacedLoop,
)
from nestmap.pipeline.frontend.yaml.core_allocation import parse_cores, places_of
from nestmap.pipeline.frontend.yaml.field_schema import (
    ITEM,
    Entries,
    Field,
    Form,
    Need,
    Origin,
    Section,
)
from nestmap.pipeline.frontend.yaml.located_node import Node

_LARGEST: Final = 2**31 - 1
_POSITION: Final = re.compile(r"D(0|[1-9][0-9]?)")
_OF_NODE: Final = re.compile(r"(.+)\.D(0|[1-9][0-9]?)")
_DIMENSION: Final = "a dimension by its position, such as D6"
_SHARED: Final = "a dimension of a node, such as node.D2"
_WHOLE: Final = "a whole number of at least 1"
_SPLITS: Final = "a list of dimensions and numbers of parts"
_TILES: Final = "a list of dimensions and sizes of tiles"


def _ignored(name: str, meaning: str, example: str) -> Field:
    return Field(name, meaning, "anything", example, Need.IGNORED, origin=Origin.STREAM)


_LAYERS: Final = Field(
    "layers", "the [cores and tilings](#layer-of-stream) of nodes", "a list of layers", ""
)
_GROUPS: Final = Field(
    "fused_groups",
    "the [groups](#fused-group) of layers that are cut together",
    "a list of groups",
    "",
    Need.OPTIONAL,
    default="[]",
)
STREAM_MAPPING: Final = Section(
    "Mapping of Stream",
    (),
    "What Stream later than 0.0.8 reads. For one core it fixes nothing.",
    (_LAYERS, _GROUPS, _ignored("runtime_args", "for Stream's compiler", "{input: {}}")),
)

_NAME: Final = Field(
    "name",
    "nodes that the entry applies to; of several entries of a name the first counts",
    "the name of a node, or an operator type",
    "Conv",
)
_CORES: Final = Field(
    "core_allocation",
    "the cores that the nodes may run on",
    "a list of numbers of cores, or a list of such lists",
    "[[0, 1, 2, 3]]",
    Need.OPTIONAL,
    otherwise="every core that can run the layer",
)
_INTER: Final = Field(
    "inter_core_tiling",
    "dimensions that split a node for several cores, and numbers of [parts](#splits)",
    _SPLITS,
    "[[{dim: D6, split: 4}]]",
    Need.OPTIONAL,
    default="[]",
)
STREAM_LAYER: Final = Section(
    "Layer of Stream",
    (_LAYERS.name, ITEM),
    "The cores of a node, and its parts for them.",
    (_NAME, _CORES, _INTER, _ignored("kernel", "for Stream's compiler", "{name: gemm}")),
)
SPLITS: Final = Entries(
    "Splits",
    (*STREAM_LAYER.at, _INTER.name),
    "Positions count the dimensions B, OX, OY, FX, FY, C, K, G of a convolution; the stacks, rows, "
    "inner elements and columns of a product; the axes of the output of a vector operator.",
    _SPLITS,
    (
        Form("{dim: D6, split: 4}", "4 parts along the output channels of a convolution"),
        Form("[{dim: D2, split: 2}]", "the same in a further list"),
    ),
)

_GROUP: Final = Field("name", "the name of the group", "a name", "front")
_MEMBERS: Final = Field(
    "layers",
    "the members; a node that several groups may mean belongs to that whose tiling is nearest",
    "names of nodes or operator types",
    "[Conv, Relu]",
)
_INTRA: Final = Field(
    "intra_core_tiling",
    "dimensions that cut the members, and sizes of [tiles](#tiles-of-a-group)",
    _TILES,
    "[{dim: conv2.D2, tile: 1}]",
    Need.OPTIONAL,
    default="[]",
)
STREAM_GROUP: Final = Section(
    "Fused group",
    (_GROUPS.name, ITEM),
    "Layers that are cut together, so that parts of one follow parts of the other.",
    (_GROUP, _MEMBERS, _INTRA),
)
TILES: Final = Entries(
    "Tiles of a group",
    (*STREAM_GROUP.at, _INTRA.name),
    "A dimension of one member, and of all others along which they make what it reads, or read "
    "what it makes.",
    _TILES,
    (Form("{dim: conv2.D2, tile: 1}", "one row of conv2 at a time"),),
)


def is_stream_mapping(root: Node) -> bool:
    """Whether a mapping file is one of present Stream."""
    return root.is_mapping and _LAYERS.name in root.entries()


def parse_stream_mapping(root: Node) -> CoreMapping:
    """The core allocations and fused groups of a mapping file of present Stream.

    Raises:
        InputError: if the file does not match the schema; the error names line and field.
    """
    fields = root.fields(STREAM_MAPPING)
    entries: dict[str, CoreAllocation] = {}
    for node in fields[_LAYERS].sequence(_LAYERS.kind):
        entry = _allocation(node)
        first = entries.setdefault(entry.target, entry)
        if first != entry:
            found = f"a second entry for {entry.target!r} that differs"
            warn_of_input(node.where, found, "one entry for each name: the first counts")
    groups = fields[_GROUPS].sequence(_GROUPS.kind) if _GROUPS in fields else ()
    tilings: list[GroupTiling] = []
    for node in groups:
        added = tuple(_group(node))
        if {x.group for x in added} & {x.group for x in tilings}:
            raise node.error("one group for each name", f"a second group {added[0].group!r}")
        tilings += added
    return CoreMapping(entries=tuple(entries.values()), groups=tuple(tilings))


def _allocation(node: Node) -> CoreAllocation:
    fields = node.fields(STREAM_LAYER)
    cores = fields[_CORES].sequence(_CORES.kind) if _CORES in fields else ()
    ids = (x for item in cores for x in parse_cores(item))
    with node.locate_errors():
        return CoreAllocation(
            target=fields[_NAME].text(_NAME.kind),
            cores=tuple(dict.fromkeys(ids)),
            placed=_splits(fields[_INTER]) if _INTER in fields else (),
            places=places_of(fields),
        )


def _splits(node: Node) -> tuple[PlacedLoop, ...]:
    items = node.sequence(_SPLITS)
    nested = [item for item in items if item.is_sequence]
    if len(nested) > 1:
        raise node.error("one tiling", f"{len(nested)} tilings")
    return tuple(_split(item) for x in nested or [node] for item in x.sequence(_SPLITS))


def _split(node: Node) -> PlacedLoop:
    dimension, parts = _pair(node, "split", "{dim: D6, split: 4}")
    matched = _POSITION.fullmatch(dimension.text(_DIMENSION))
    if matched is None:
        raise dimension.error(_DIMENSION)
    return PlacedLoop(position=int(matched[1]), parts=_count(parts))


def _pair(node: Node, number: str, example: str) -> tuple[Node, Node]:
    """A dimension and a number, which stand in a mapping of two fields."""
    fields = node.entries(example)
    if fields.keys() != {"dim", number}:
        raise node.error(f"dim and {number}, as in {example}", f"fields {', '.join(fields)}")
    return fields["dim"], fields[number]


def _count(node: Node) -> int:
    return node.integer(_WHOLE, minimum=1, maximum=_LARGEST)


def _group(node: Node) -> Iterator[GroupTiling]:
    fields = node.fields(STREAM_GROUP)
    name, members = fields[_GROUP].text(_GROUP.kind), fields[_MEMBERS].sequence(_MEMBERS.kind)
    names = tuple(member.text(_MEMBERS.kind) for member in members)
    for item in fields[_INTRA].sequence(_TILES) if _INTRA in fields else ():
        dimension, tile = _pair(item, "tile", "{dim: node.D2, tile: 1}")
        matched = _OF_NODE.fullmatch(dimension.text(_SHARED))
        if matched is None:
            raise dimension.error(_SHARED)
        yield GroupTiling(
            group=name,
            members=names,
            node=matched[1],
            position=int(matched[2]),
            tile=_count(tile),
            places=FieldPlaces(known=(("dim", item.place),) if item.line else ()),
        )
