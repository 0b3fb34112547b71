"""Reads what an entry of a mapping file says of cores, where an accelerator has several."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from nestmap.model.multicore.accelerator import CoreId
from nestmap.model.multicore.core_constraints import CoreAllocation
from nestmap.model.multicore.split_options import HintLoop, Hints
from nestmap.pipeline.frontend.yaml.field_schema import ITEM, Entries, Field, Form, Need, Origin
from nestmap.pipeline.frontend.yaml.located_node import Node, is_name
from nestmap.pipeline.frontend.yaml.quantities import SWITCH

_LARGEST: Final = 2**31 - 1
_TILES: Final = re.compile(r"all|[1-9][0-9]{0,9}")
_TILED: Final = "a loop dimension and a number of parts, or all, such as 'OY, 4'"
_TILINGS: Final = f"a list, each item {_TILED}"

_CORES: Final = Field(
    "core_allocation",
    "the cores that the layers may run on; looked at only where there are several",
    "the number of a core, or a list of them",
    "[0, 1]",
    Need.OPTIONAL,
    otherwise="every core that runs such a layer; vector operators, those that name them in "
    "`operator_types`",
    origin=Origin.STREAM,
)
_FIXED: Final = Field(
    "core_allocation_is_fixed",
    "with `true` `core_allocation` leaves no choice: item i is the core of group i of each layer "
    "(those computation nodes that read the same weights), or the only item that of all groups",
    SWITCH,
    "true",
    Need.OPTIONAL,
    default="false",
    origin=Origin.STREAM,
)
_INTRA: Final = Field(
    "intra_core_tiling",
    "loops that [cut](#tilings) layers into computation nodes that follow one another",
    _TILINGS,
    '["OY, all"]',
    Need.OPTIONAL,
    otherwise="with no tiling at all that of `default`",
    origin=Origin.STREAM,
)
_INTER: Final = Field(
    "inter_core_tiling",
    "loops that cut layers into computation nodes for several cores; they are within those of the "
    "other tiling",
    _TILINGS,
    '["K, 4"]',
    Need.OPTIONAL,
    otherwise="as for `intra_core_tiling`",
    origin=Origin.STREAM,
)

ALLOCATION_FIELDS: Final = (_CORES, _FIXED, _INTRA, _INTER)
"""The fields of an entry that say something of cores."""

TILINGS: Final = Entries(
    "Tilings",
    (ITEM, _INTRA.name),
    "Loops that cut a layer, innermost first; a loop dimension that the layer does not have is "
    "left out. How many parts must be said: `*`, which leaves it to Stream, is an error.",
    _TILINGS,
    (
        Form('"OY, 4"', "4 parts along `OY`"),
        Form('"OY, all"', "each iteration of `OY` is a part"),
    ),
)


def parse_allocation(target: str, fields: Mapping[Field, Node]) -> CoreAllocation | None:
    """What the fields of an entry say of cores; ``None`` where they say nothing.

    Raises:
        InputError: where they are not right; it names the line and the field.
    """
    if not any(field in fields for field in ALLOCATION_FIELDS):
        return None
    fixed = fields[_FIXED].boolean() if _FIXED in fields else False
    if fixed and _CORES not in fields:
        raise fields[_FIXED].error("core_allocation beside it, or false")
    intra, inter = fields.get(_INTRA), fields.get(_INTER)
    node = fields.get(_CORES) or next(fields[x] for x in ALLOCATION_FIELDS if x in fields)
    with node.checking():
        allocation = CoreAllocation(
            target=target,
            cores=_cores(fields[_CORES]) if _CORES in fields else (),
            fixed=fixed,
            intra=_tiling(intra) if intra else (),
            inter=_tiling(inter) if inter else (),
        )
    return allocation if allocation.cores or allocation.hints else None


def _cores(node: Node) -> tuple[CoreId, ...]:
    items = node.sequence() if node.is_sequence else (node,)
    if not items:
        raise node.error(_CORES.kind)
    return tuple(item.integer(_CORES.kind, minimum=0, maximum=_LARGEST) for item in items)


def _tiling(node: Node) -> Hints:
    return tuple(_tiled(item) for item in node.sequence(_TILINGS))


def _tiled(node: Node) -> HintLoop:
    dimension, _, tiles = (part.strip() for part in node.text(_TILED).partition(","))
    if not is_name(dimension) or not _TILES.fullmatch(tiles):
        raise node.error(_TILED)
    if tiles == "all":
        return HintLoop(dimension=dimension.upper())
    if int(tiles) > _LARGEST:
        raise node.error(f"{_TILED}, at most {_LARGEST}")
    return HintLoop(dimension=dimension.upper(), tiles=int(tiles))
