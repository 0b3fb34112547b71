"""Reads mapping files of present Stream: layers with cores and tilings, and fused groups.

Dimensions are positions (``D6``), whose meaning depends on the operator; they get names where the
network is known (:mod:`nestmap.model.multicore.placed_tilings`).
"""

import re
from collections.abc import Iterator
from typing import Annotated, Final

from pydantic import BeforeValidator

from nestmap.model.errors import warn_of_input
from nestmap.model.mapping.constraints import FieldPlaces
from nestmap.model.multicore.core_constraints import (
    CoreAllocation,
    CoreMapping,
    GroupTiling,
    PlacedLoop,
)
from nestmap.pipeline.frontend.yaml.field_schema import ITEM, Form, Forms, Origin
from nestmap.pipeline.frontend.yaml.file_model import (
    Count,
    FileModel,
    Number,
    Text,
    Written,
    as_list,
    ignored,
    places_of,
    read_fields,
)
from nestmap.pipeline.frontend.yaml.located_node import Node

_POSITION: Final = re.compile(r"D(0|[1-9][0-9]?)")
_OF_NODE: Final = re.compile(r"(.+)\.D(0|[1-9][0-9]?)")
_DIMENSION: Final = "a dimension by its position, such as D6"
_SHARED: Final = "a dimension of a node, such as node.D2"
_SPLITS: Final = "a list of dimensions and numbers of parts"
_TILES: Final = "a list of dimensions and sizes of tiles"

_Positive = Annotated[Count, Written("a whole number of at least 1")]


SPLITS: Final = Forms(
    "Splits",
    "Positions count the dimensions B, OX, OY, FX, FY, C, K, G of a convolution; the stacks, rows, "
    "inner elements and columns of a product; the axes of the output of a vector operator.",
    (
        Form("{dim: D6, split: 4}", "4 parts along the output channels of a convolution"),
        Form("[{dim: D2, split: 2}]", "the same in a further list"),
    ),
)

TILES: Final = Forms(
    "Tiles of a group",
    "A dimension of one member, and of all others along which they make what it reads, or read "
    "what it makes.",
    (Form("{dim: conv2.D2, tile: 1}", "one row of conv2 at a time"),),
)


class _Tile(FileModel, frozen=True):
    """A dimension that cuts a group, and the size of a tile."""

    dim: Annotated[Text, Written(_SHARED)]
    tile: _Positive


class _Split(FileModel, frozen=True):
    """A dimension that splits a node, and the number of parts."""

    dim: Annotated[Text, Written(_DIMENSION)]
    split: _Positive


class StreamLayerFields(FileModel, frozen=True, title="Layer of Stream"):
    """The cores of a node, and its parts for them."""

    at = ("layers", ITEM)

    name: Annotated[Text, Written("the name of a node, or an operator type", "Conv")]
    """Nodes that the entry applies to; of several entries of a name the first counts."""
    core_allocation: Annotated[
        tuple[
            Annotated[
                tuple[Annotated[Number, Written("the number of a core")], ...],
                BeforeValidator(as_list, json_schema_input_type=tuple[int, ...] | int),
            ],
            ...,
        ],
        Written(
            "a list of numbers of cores, or a list of such lists",
            "[[0, 1, 2, 3]]",
            otherwise="every core that can run the layer",
        ),
    ] = ()
    """The cores that the nodes may run on."""
    inter_core_tiling: Annotated[
        tuple[object, ...], Written(_SPLITS, "[[{dim: D6, split: 4}]]"), SPLITS
    ] = ()
    """Dimensions that split a node for several cores, and numbers of [parts](#splits)."""
    kernel: Annotated[object, ignored("{name: gemm}", Origin.STREAM)] = None
    """For Stream's compiler."""


class StreamGroupFields(FileModel, frozen=True, title="Fused group"):
    """Layers that are cut together, so that parts of one follow parts of the other."""

    at = ("fused_groups", ITEM)

    name: Annotated[Text, Written("a name", "front")]
    """The name of the group."""
    layers: Annotated[tuple[Text, ...], Written("names of nodes or operator types", "[Conv, Relu]")]
    """The members; a node that several groups may mean belongs to that whose tiling is nearest."""
    intra_core_tiling: Annotated[
        tuple[_Tile, ...], Written(_TILES, "[{dim: conv2.D2, tile: 1}]"), TILES
    ] = ()
    """Dimensions that cut the members, and sizes of [tiles](#tiles-of-a-group)."""


class StreamMappingFields(FileModel, frozen=True, title="Mapping of Stream"):
    """What Stream later than 0.0.8 reads. For one core it fixes nothing."""

    layers: Annotated[tuple[StreamLayerFields, ...], Written("a list of layers")]
    """The [cores and tilings](#layer-of-stream) of nodes."""
    fused_groups: Annotated[tuple[StreamGroupFields, ...], Written("a list of groups")] = ()
    """The [groups](#fused-group) of layers that are cut together."""
    runtime_args: Annotated[object, ignored("{input: {}}", Origin.STREAM)] = None
    """For Stream's compiler."""


def is_stream_mapping(root: Node) -> bool:
    """Whether a mapping file is one of present Stream."""
    return root.is_mapping and "layers" in root.entries()


def parse_stream_mapping(root: Node) -> CoreMapping:
    """The core allocations and fused groups of a mapping file of present Stream.

    Raises:
        InputError: if the file does not match the schema; the error names line and field.
    """
    given = read_fields(root, StreamMappingFields)
    entries: dict[str, CoreAllocation] = {}
    for node, layer in zip(root.at("layers").sequence(), given.layers, strict=True):
        entry = _allocation(node, layer)
        if entries.setdefault(entry.target, entry) != entry:
            found = f"a second entry for {entry.target!r} that differs"
            warn_of_input(node.where, found, "one entry for each name: the first counts")
    tilings: list[GroupTiling] = []
    groups = root.at("fused_groups").sequence() if given.fused_groups else ()
    for node, group in zip(groups, given.fused_groups, strict=True):
        added = tuple(_tilings(node, group))
        if {x.group for x in added} & {x.group for x in tilings}:
            raise node.error("one group for each name", f"a second group {group.name!r}")
        tilings += added
    return CoreMapping(entries=tuple(entries.values()), groups=tuple(tilings))


def _allocation(node: Node, given: StreamLayerFields) -> CoreAllocation:
    with node.locate_errors():
        return CoreAllocation(
            target=given.name,
            cores=tuple(dict.fromkeys(core for cores in given.core_allocation for core in cores)),
            placed=tuple(_splits(node.at("inter_core_tiling"))) if given.inter_core_tiling else (),
            places=places_of(node),
        )


def _splits(node: Node) -> Iterator[PlacedLoop]:
    items = node.sequence(_SPLITS)
    nested = [item for item in items if item.is_sequence]
    if len(nested) > 1:
        raise node.error("one tiling", f"{len(nested)} tilings")
    for place in (item for x in nested or [node] for item in x.sequence(_SPLITS)):
        split = read_fields(place, _Split)
        matched = _POSITION.fullmatch(split.dim)
        if matched is None:
            raise place.at("dim").error(_DIMENSION)
        yield PlacedLoop(position=int(matched[1]), parts=split.split)


def _tilings(node: Node, given: StreamGroupFields) -> Iterator[GroupTiling]:
    tiles = node.at("intra_core_tiling").sequence() if given.intra_core_tiling else ()
    for place, tile in zip(tiles, given.intra_core_tiling, strict=True):
        matched = _OF_NODE.fullmatch(tile.dim)
        if matched is None:
            raise place.at("dim").error(_SHARED)
        yield GroupTiling(
            group=given.name,
            members=given.layers,
            node=matched[1],
            position=int(matched[2]),
            tile=tile.tile,
            places=FieldPlaces(known=(("dim", place.place),) if place.line else ()),
        )
