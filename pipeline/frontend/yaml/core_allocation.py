"""Reads core allocations, tilings and dataflows of a mapping file, for several cores."""

import re
from collections.abc import Collection, Mapping
from typing import Final

from nestmap.model.mapping.constraints import FieldPlaces
from nestmap.model.multicore.accelerator import CoreId
from nestmap.model.multicore.core_constraints import CoreAllocation
from nestmap.model.multicore.split_options import HintLoop, Hints
from nestmap.pipeline.frontend.yaml.field_schema import ITEM, Entries, Field, Form, Need, Origin
from nestmap.pipeline.frontend.yaml.located_node import Node, is_name
from nestmap.pipeline.frontend.yaml.quantities import SWITCH
from nestmap.pipeline.frontend.yaml.temporal_ordering import DATAFLOW, parse_dataflow

_LARGEST: Final = 2**31 - 1
_TILES: Final = re.compile(r"all|[1-9][0-9]{0,9}")
_TILED: Final = "a loop dimension and a number of parts, or all, such as 'OY, 4'"
_EACH_CORE: Final = f"{_TILED}; * stands for the cores of core_allocation in inter_core_tiling"
_TILINGS: Final = f"a list, each item {_TILED}"

_CORES: Final = Field(
    "core_allocation",
    "the cores that the layers may run on; only used for multi-core accelerators",
    "the number of a core, or a list of them",
    "[0, 1]",
    Need.OPTIONAL,
    otherwise="every core that can run the layer; for vector operators, the cores that list them "
    "in `operator_types`",
    origin=Origin.STREAM,
)
_FIXED: Final = Field(
    "core_allocation_is_fixed",
    "whether `core_allocation` fixes the cores: item i is the core of group i of each layer (the "
    "computation nodes that read the same weights); a single item is the core of all groups",
    SWITCH,
    "true",
    Need.OPTIONAL,
    default="false",
    origin=Origin.STREAM,
)
_INTRA: Final = Field(
    "intra_core_tiling",
    "loops that [split](#tilings) a layer into computation nodes that run one after the other",
    _TILINGS,
    '["OY, all"]',
    Need.OPTIONAL,
    otherwise="the tilings of `default`, if the entry has neither tiling",
    origin=Origin.STREAM,
)
_INTER: Final = Field(
    "inter_core_tiling",
    "loops that split a layer into computation nodes for several cores, inside the loops of "
    "`intra_core_tiling`",
    _TILINGS,
    '["K, 4"]',
    Need.OPTIONAL,
    otherwise="as for `intra_core_tiling`",
    origin=Origin.STREAM,
)

ALLOCATION_FIELDS: Final = (_CORES, _FIXED, _INTRA, _INTER)
"""The fields of an entry that concern cores."""

TILINGS: Final = Entries(
    "Tilings",
    (ITEM, _INTRA.name),
    "Loops that split a layer, innermost first; loop dimensions that the layer does not have are "
    "skipped. In `inter_core_tiling`, `*` stands for the number of cores in `core_allocation`.",
    _TILINGS,
    (Form('"OY, 4"', "4 parts along `OY`"), Form('"OY, all"', "each iteration of `OY` is a part")),
)


def parse_allocation(target: str, fields: Mapping[Field, Node]) -> CoreAllocation | None:
    """The core allocation of a mapping entry; ``None`` if it mentions no cores and no dataflow.

    Raises:
        InputError: if a field is invalid; the error names line and field.
    """
    stated = [fields[x] for x in (*ALLOCATION_FIELDS, DATAFLOW) if x in fields]
    if not stated:
        return None
    fixed = fields[_FIXED].boolean() if _FIXED in fields else False
    if fixed and _CORES not in fields:
        raise fields[_FIXED].error("false, or core_allocation in the same entry")
    intra, inter = fields.get(_INTRA), fields.get(_INTER)
    cores = parse_cores(fields[_CORES]) if _CORES in fields else ()
    with stated[0].locate_errors():
        allocation = CoreAllocation(
            target=target,
            cores=cores,
            fixed=fixed,
            intra=_tiling(intra) if intra else (),
            inter=_tiling(inter, cores) if inter else (),
            dataflow=parse_dataflow(fields),
            places=places_of(fields),
        )
    return allocation if allocation.cores or allocation.hints or allocation.dataflow else None


def places_of(fields: Mapping[Field, Node]) -> FieldPlaces:
    """The places of the fields of an entry, if a file states them."""
    return FieldPlaces(known=tuple((x.name, node.place) for x, node in fields.items() if node.line))


def parse_cores(node: Node) -> tuple[CoreId, ...]:
    """A core or a list of cores.

    Raises:
        InputError: if it is not; the error names line and field.
    """
    items = node.sequence() if node.is_sequence else (node,)
    if not items:
        raise node.error(_CORES.kind)
    return tuple(item.integer(_CORES.kind, minimum=0, maximum=_LARGEST) for item in items)


def _tiling(node: Node, cores: Collection[CoreId] = ()) -> Hints:
    return tuple(_tiled(item, len(set(cores))) for item in node.sequence(_TILINGS))


def _tiled(node: Node, cores: int) -> HintLoop:
    dimension, _, tiles = (part.strip() for part in node.text(_TILED).partition(","))
    if tiles == "*" and cores:
        tiles = str(cores)
    if not is_name(dimension) or not _TILES.fullmatch(tiles):
        raise node.error(_EACH_CORE if tiles == "*" else _TILED)
    if tiles == "all":
        return HintLoop(dimension=dimension.upper())
    if int(tiles) > _LARGEST:
        raise node.error(f"{_TILED}, at most {_LARGEST}")
    return HintLoop(dimension=dimension.upper(), tiles=int(tiles))
