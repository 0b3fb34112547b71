"""The fields of mapping files: entries for layers, segments, and what concerns several cores."""

from collections.abc import Mapping
from typing import Annotated, Final

from pydantic import AfterValidator, BeforeValidator, Field

from nestmap.model import Dataflow
from nestmap.model.mapping.constraints import FETCHED, SegmentInputs
from nestmap.pipeline.frontend.yaml.field_schema import ITEM, Form, Forms, Need, Origin
from nestmap.pipeline.frontend.yaml.file_model import (
    LARGEST_COUNT,
    FileModel,
    Name,
    Number,
    Operand,
    Switch,
    Text,
    Whole,
    Written,
    as_list,
    different,
)
from nestmap.pipeline.frontend.yaml.located_node import NAME

UNROLLED_LOOP: Final = (
    f"a loop dimension and its unrolling factor, such as 'K, 32' (1 to {LARGEST_COUNT} times)"
)
TILED_LOOP: Final = "a loop dimension and a number of parts, or all, such as 'OY, 4'"
CORES: Final = "the number of a core, or a list of them"

_UNROLLED: Final = rf"^\s*{NAME}\s*,\s*[1-9][0-9]{{0,9}}\s*$"
_SEARCHED: Final = "the search decides"
_ARRAY: Final = "lists of loops by array dimension, such as D1: [...]"
_LINKS: Final = "memory operands by layer operand, such as W: I2"
_ORDER: Final = "a list of loops, innermost first"
_LEVELS: Final = "memories by layer operand, such as W: {sram: 3, dram: 5}"
_TILINGS: Final = f"a list, each item {TILED_LOOP}"

LoopDimension = Annotated[Name, Written("a loop dimension such as OX")]
LoopDimensions = Annotated[tuple[LoopDimension, ...], AfterValidator(different)]
UnrolledLoops = Annotated[
    tuple[Annotated[str, Field(pattern=_UNROLLED), Written(UNROLLED_LOOP)], ...],
    Written(f"a list, each item {UNROLLED_LOOP}"),
]
Unrollings = Annotated[Mapping[Name, UnrolledLoops], Written(_ARRAY)]
"""The loops that are unrolled, by array dimension."""
Tiling = tuple[Annotated[Text, Written(TILED_LOOP)], ...]


UNROLLED: Final = Forms(
    "Unrolled loops",
    "By array dimension: the loops unrolled along it, each with its factor, 1 to "
    f"{LARGEST_COUNT}. The product of the factors is at most the units along that dimension.",
    (
        Form('D1: ["K, 4"]', "4 iterations of `K` in parallel along `D1`"),
        Form('D2: ["C, 2", "FX, 3"]', "2 iterations of `C` times 3 of `FX` in parallel along `D2`"),
    ),
)

HINTS: Final = Forms(
    "Hints",
    "By array dimension: the loop dimensions that may be unrolled along it. Along array dimensions "
    "without a hint, any loop may be unrolled.",
    (Form("D1: [K, OX]", "only loops over `K` or `OX` along `D1`"),),
)

LINKS: Final = Forms(
    "Links",
    "Layers call their operands `O`, `W` and `I` (or as in their equation), memories `O`, `I1` and "
    "`I2`. The output is carried as `O`, each input as another memory operand.",
    (Form("W: I2", "the memories of `I2` hold `W`"),),
)

ORDER: Final = Forms(
    "Order of loops",
    'Innermost first. Without a wildcard `"*"` the list pins the innermost loops; items after a '
    "wildcard pin the outermost loops, the last item being the outermost. Items that cover all "
    "iterations of a layer are its complete order. An item over a dimension that has size 1 in a "
    "layer or is fully unrolled has no effect there; any other unsatisfiable item is an error.",
    (
        Form("[FX, 7]", "a loop over `FX` with 7 iterations"),
        Form(
            '[K, "*"]',
            "a loop over `K` of any size: one of the factors that its iterations are split into",
        ),
        Form('"*"', 'all other loops, in any order; also `["*"]`; at most once'),
    ),
)

LEVELS: Final = Forms(
    "Memories of loops",
    "For each layer operand and each of its memories: the number of items of "
    "`temporal_ordering`, counted from the innermost, at or below that memory.",
    (
        Form(
            "W: {sram: 1, dram: 2}",
            "one loop iterates over the data of `W` in `sram`, the other over that in `dram`",
        ),
    ),
)

TILINGS: Final = Forms(
    "Tilings",
    "Loops that split a layer, innermost first; loop dimensions that the layer does not have are "
    "skipped. In `inter_core_tiling`, `*` stands for the number of cores in `core_allocation`.",
    (Form('"OY, 4"', "4 parts along `OY`"), Form('"OY, all"', "each iteration of `OY` is a part")),
)


class SegmentFields(FileModel, frozen=True, title="Segment"):
    """What is fixed of layers that run together: see [Fused mapping](fused-mapping.md).

    `--save-mapping` with `--fuse` writes it for all layers.
    """

    at = (ITEM, "fused")
    origin = Origin.NESTMAP

    first: Annotated[
        Text | None,
        Written(
            "the name of a layer",
            "stem",
            otherwise="unless there is no field: `{}` lets the layer run by itself, as a whole",
            need=Need.CONDITIONAL,
        ),
    ] = None
    """Its first layer."""
    tiles: Annotated[
        Mapping[Name, Annotated[Whole, Field(ge=1), Written("a size, at least 1")]] | None,
        Written("sizes by loop dimension such as OY: 4", "{OY: 4, OX: 60}", _SEARCHED),
    ] = None
    """The size of a tile of its last output along each dimension that is cut; others are whole."""
    recomputed: Annotated[
        LoopDimensions | None, Written("a list of loop dimensions such as OX", "[OX]", _SEARCHED)
    ] = None
    """The dimensions along which tiles compute again what they share with earlier ones; along
    others it stays on chip."""
    home: Annotated[Text | None, Written("the name of a memory", "sram", _SEARCHED)] = None
    """The memory that holds the tensors between its layers."""
    weights: Annotated[
        Text | None, Written(f"the name of a memory, or {FETCHED}", "sram", _SEARCHED)
    ] = None
    """The memory in which weights stay while all tiles run; `fetched`: each tile fetches them."""
    inputs: Annotated[SegmentInputs | None, Written(example="copied", otherwise=_SEARCHED)] = None
    """Whether inputs from the outermost memory are copied on chip first, or read from outside."""


class MappingFields(FileModel, frozen=True, title="Mapping entry"):
    """A mapping file is a list of entries with different names.

    Whatever an entry does not fix is searched.
    """

    at = (ITEM,)

    name: Annotated[Text, Written("the name of a layer, an operator type, or default", "Conv")]
    """Layers that the entry applies to: the layer of that name, else the layers of that operator
    type, else, with `default`, all other layers."""
    dataflow: Annotated[
        Dataflow | None,
        Written(example="weight_stationary", otherwise=_SEARCHED, origin=Origin.NESTMAP),
    ] = None
    """What stays in the [innermost memories](cost-model.md#dataflows): `weight_stationary`,
    `input_stationary`, `output_stationary` or `row_stationary`; of several cores, in each that runs
    the layers."""
    spatial_mapping: Annotated[
        Unrollings | None,
        Written(_ARRAY, '{D1: ["K, 32"], D2: ["C, 8", "FX, 3"]}', _SEARCHED),
        UNROLLED,
    ] = None
    """How loops are [unrolled](#unrolled-loops) over the array."""
    spatial_mapping_hint: Annotated[
        Mapping[Name, LoopDimensions] | None,
        Written(_ARRAY, "{D1: [K], D2: [C, FX, FY]}", otherwise="any loop may be"),
        HINTS,
    ] = None
    """Which loops [may be unrolled](#hints), if there is no `spatial_mapping`."""
    memory_operand_links: Annotated[
        Mapping[Name, Annotated[Operand, Written("a memory operand such as I2")]] | None,
        Written(
            _LINKS,
            "{O: O, W: I2, I: I1}",
            otherwise="`{O: O, W: I2, I: I1}` as far as the accelerator has these; other inputs "
            "take the remaining memory operands in order",
        ),
        LINKS,
    ] = None
    """The memory operand that [carries](#links) each layer operand."""
    temporal_ordering: Annotated[
        tuple[object, ...], Written(_ORDER, '[[FX, 7], [K, "*"], "*", [OY, 56]]'), ORDER
    ] = ()
    """The order of the [temporal loops](#order-of-loops), in full or in part."""
    memory_levels: Annotated[
        Mapping[
            Name,
            Annotated[
                Mapping[
                    Annotated[str, Field(min_length=1)],
                    Annotated[
                        Whole, Written("a number of items of temporal_ordering, not negative")
                    ],
                ],
                Written("the number of loops at or below each memory, such as {sram: 3, dram: 5}"),
            ],
        ],
        Written(_LEVELS, "{W: {sram: 1, dram: 2}}", origin=Origin.NESTMAP),
        LEVELS,
    ] = {}
    """The loops whose data [each memory](#memories-of-loops) holds; together with an order of all
    loops it makes the mapping complete, and nothing is searched."""
    fused: Annotated[
        SegmentFields | None,
        Written(example="{first: stem}", otherwise=_SEARCHED, origin=Origin.NESTMAP),
    ] = None
    """With `--fuse`: the [segment](#segment) of layers that run together, tile by tile, of which
    this one is the last. Vector operators after it belong to it."""
    core_allocation: Annotated[
        tuple[Annotated[Number, Written(CORES)], ...] | None,
        BeforeValidator(as_list, json_schema_input_type=tuple[int, ...] | int),
        Written(
            CORES,
            "[0, 1]",
            otherwise="every core that can run the layer; for vector operators, the cores that "
            "list them in `operator_types`",
            origin=Origin.STREAM,
        ),
    ] = None
    """The cores that the layers may run on; only used for multi-core accelerators."""
    core_allocation_is_fixed: Annotated[Switch, Written(example="true", origin=Origin.STREAM)] = (
        False
    )
    """Whether `core_allocation` fixes the cores: item i is the core of group i of each layer (the
    computation nodes that read the same weights); a single item is the core of all groups."""
    intra_core_tiling: Annotated[
        Tiling | None,
        Written(
            _TILINGS,
            '["OY, all"]',
            otherwise="the tilings of `default`, if the entry has neither tiling",
            origin=Origin.STREAM,
        ),
        TILINGS,
    ] = None
    """Loops that [split](#tilings) a layer into computation nodes that run one after the other."""
    inter_core_tiling: Annotated[
        Tiling | None,
        Written(_TILINGS, '["K, 4"]', otherwise="as for `intra_core_tiling`", origin=Origin.STREAM),
    ] = None
    """Loops that split a layer into computation nodes for several cores, inside the loops of
    `intra_core_tiling`."""
