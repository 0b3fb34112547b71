"""Reads the segments of layers that run together, which a mapping file fixes."""

from collections.abc import Mapping
from typing import Final

from nestmap.model.mapping.constraints import (
    FETCHED,
    FieldPlaces,
    SegmentInputs,
    SegmentPin,
    TileSize,
)
from nestmap.pipeline.frontend.yaml.field_schema import ITEM, Field, Need, Origin, Section, one_of
from nestmap.pipeline.frontend.yaml.located_node import Node

FUSED: Final = Field(
    "fused",
    "with `--fuse`: the [segment](#segment) of layers that run together, tile by tile, of which "
    "this one is the last. Vector operators after it belong to it",
    "the fields",
    "{first: stem}",
    Need.OPTIONAL,
    otherwise="the search decides",
    origin=Origin.NESTMAP,
)
_FIRST: Final = Field(
    "first",
    "its first layer",
    "the name of a layer",
    "stem",
    Need.CONDITIONAL,
    otherwise="unless there is no field: `{}` lets the layer run by itself, as a whole",
    origin=Origin.NESTMAP,
)
_TILES: Final = Field(
    "tiles",
    "the size of a tile of its last output along each dimension that is cut; others are whole",
    "sizes by loop dimension such as OY: 4",
    "{OY: 4, OX: 60}",
    Need.OPTIONAL,
    otherwise="the search decides",
    origin=Origin.NESTMAP,
)
_RECOMPUTED: Final = Field(
    "recomputed",
    "the dimensions along which tiles compute again what they share with earlier ones; along "
    "others it stays on chip",
    "a list of loop dimensions such as OX",
    "[OX]",
    Need.OPTIONAL,
    otherwise="the search decides",
    origin=Origin.NESTMAP,
)
_HOME: Final = Field(
    "home",
    "the memory that holds the tensors between its layers",
    "the name of a memory",
    "sram",
    Need.OPTIONAL,
    otherwise="the search decides",
    origin=Origin.NESTMAP,
)
_WEIGHTS: Final = Field(
    "weights",
    f"the memory in which weights stay while all tiles run; `{FETCHED}`: each tile fetches them",
    f"the name of a memory, or {FETCHED}",
    "sram",
    Need.OPTIONAL,
    otherwise="the search decides",
    origin=Origin.NESTMAP,
)
_INPUTS: Final = Field(
    "inputs",
    "whether inputs from the outermost memory are copied on chip first, or read from outside",
    one_of(SegmentInputs),
    "copied",
    Need.OPTIONAL,
    otherwise="the search decides",
    origin=Origin.NESTMAP,
)

SEGMENT: Final = Section(
    "Segment",
    (ITEM, FUSED.name),
    "What is fixed of layers that run together: see [Fused mapping](fused-mapping.md). "
    "`--save-mapping` with `--fuse` writes it for all layers.",
    (_FIRST, _TILES, _RECOMPUTED, _HOME, _WEIGHTS, _INPUTS),
)


def parse_segment(layer: str, node: Node) -> SegmentPin:
    """The segment that ends with a layer, in the format :data:`SEGMENT`.

    Raises:
        InputError: if the value has another format; the error names line and field.
    """
    fields = node.fields(SEGMENT)
    texts = {x.name: fields[x].text(x.kind) for x in (_FIRST, _HOME, _WEIGHTS) if x in fields}
    again = fields[_RECOMPUTED].names(_RECOMPUTED.kind) if _RECOMPUTED in fields else None
    if _FIRST not in fields and fields:
        raise node.error(f"{_FIRST.name}, or no other field", f"no {_FIRST.name}")
    return SegmentPin(
        last=layer,
        first=texts.get(_FIRST.name),
        tiles=_sizes(fields),
        recomputed=None if again is None else tuple(d.upper() for d in again),
        home=texts.get(_HOME.name),
        weights=texts.get(_WEIGHTS.name),
        inputs=fields[_INPUTS].choice(SegmentInputs) if _INPUTS in fields else None,
        places=FieldPlaces(known=((FUSED.name, node.where),) if node.line else ()),
    )


def _sizes(fields: Mapping[Field, Node]) -> tuple[TileSize, ...]:
    sizes = fields[_TILES].named(_TILES.kind) if _TILES in fields else {}
    if _TILES in fields and not sizes:
        raise fields[_TILES].error(_TILES.kind)
    return tuple(
        TileSize(dimension=d.upper(), size=x.integer("a size, at least 1", minimum=1))
        for d, x in sizes.items()
    )
