"""The fields of a layer in a workload file."""

from collections.abc import Mapping
from typing import Annotated, Final

from pydantic import BeforeValidator, Field

from nestmap.pipeline.frontend.yaml.field_schema import ITEM, Form, Forms, Origin
from nestmap.pipeline.frontend.yaml.file_model import (
    Count,
    FileModel,
    Name,
    Number,
    Share,
    Text,
    Whole,
    Written,
    as_list,
    ignored,
)
from nestmap.pipeline.frontend.yaml.located_node import LARGEST

SOURCE_IDS: Final = "the id of a layer, or a list of them"
_RELATIONS: Final = "a list of relations such as ix=2*ox+1*fx"
_SOURCES: Final = "layer ids, or lists of them, by operand"
_SHARES: Final = "shares by operand"
_PRECISIONS: Final = "numbers of bits by operand"

_Id = Annotated[int, Field(strict=True, ge=-LARGEST, le=LARGEST)]
_Elements = Annotated[Number, Written("a number of elements, not negative")]


PRECISIONS: Final = Forms(
    "Precisions",
    "Bits of each operand of the equation, by name, and of finished outputs. Those of operands `W` "
    "and `I` that the equation does not have are ignored.",
    (
        Form("O: 16", "of a partial sum of the output"),
        Form("W: 8", "of the input of that name"),
        Form("O_final: 8", "of a finished output; left out: that of `O`"),
    ),
)

RELATIONS: Final = Forms(
    "Derived dimensions",
    "Each item derives a dimension from two loops, such as the input column `ix` of a convolution "
    "from the output column `ox` and the filter column `fx`.",
    (
        Form("ix=2*ox+1*fx", "`ix` steps by 2 with `ox` (the stride), by 1 with `fx`"),
        Form("ix=ox+fx", "the same as `ix=1*ox+1*fx`"),
    ),
)

SOURCES: Final = Forms(
    "Sources",
    "By input. An input that is not listed comes from outside: `W` is a constant, any other one is "
    "an input of the network. Layers may be listed in any order but must not form a cycle.",
    (
        Form("I: 0", "the output of layer 0; in layer 0 itself, an input from outside"),
        Form("I: [0, 1]", "the outputs of layers 0 and 1, concatenated"),
    ),
)

DENSITIES: Final = Forms(
    "Densities",
    "By operand; one that is not listed has no zeros. Zeros are anywhere in the tensor.",
    (Form("I: 0.42", "58 % of the elements of `I` are zero"),),
)


class LayerFields(FileModel, frozen=True, title="Layer"):
    """A workload file is a list of layers."""

    at = (ITEM,)

    id: Annotated[_Id, Written("the number of the layer", "0")]
    """The unique number of the layer, as in `operand_source`."""
    operator_type: Annotated[Text, Written("an operator type such as Conv", "Conv")]
    """A name by which mapping entries may refer to the layer; has no other effect, except that IMC
    arrays skip `Pooling` and `Add`."""
    equation: Annotated[
        Text, Written("an equation", "O[b][k][oy][ox]+=W[k][c][fy][fx]*I[b][c][iy][ix]")
    ]
    """The computation: output on the left, one or two inputs on the right, each with the dimensions
    that index it. Dimensions that only index inputs are summed over; `=` then means `+=`."""
    loop_dims: Annotated[
        tuple[Annotated[Name, Written("a loop dimension such as OX")], ...],
        Written("a list of loop dimensions such as OX", "[B, K, C, OY, OX, FY, FX]"),
    ]
    """The loops: the dimensions of the equation, with those that `dimension_relations` derives
    replaced by the ones they are derived from."""
    loop_sizes: Annotated[
        tuple[Annotated[Count, Written("a positive loop size")], ...],
        Written("a list of positive loop sizes", "[1, 16, 3, 8, 8, 3, 3]"),
    ]
    """Iterations of each loop, in the order of `loop_dims`."""
    operand_precision: Annotated[
        Mapping[str, Annotated[Whole, Written("a number of bits, not negative")]],
        Written(_PRECISIONS, "{W: 8, I: 8, O: 16, O_final: 8}"),
        PRECISIONS,
    ]
    """[Bits per element](#precisions) of each operand."""
    name: Annotated[
        Text | None,
        Written("the name of the layer", "stem", otherwise="`Layer` followed by its `id`"),
    ] = None
    """The name of the layer in reports and mapping entries; a second layer of a name gets its
    id."""
    dimension_relations: Annotated[
        tuple[Annotated[Text, Written("a relation such as ix=2*ox+1*fx")], ...],
        Written(_RELATIONS, "[ix=2*ox+1*fx, iy=2*oy+1*fy]"),
        RELATIONS,
    ] = ()
    """How [dimensions](#derived-dimensions) of the equation that are not loops depend on loops."""
    operand_source: Annotated[
        Mapping[
            str,
            Annotated[
                tuple[Annotated[_Id, Written(SOURCE_IDS)], ...],
                BeforeValidator(as_list, json_schema_input_type=tuple[int, ...] | int),
                Written(SOURCE_IDS),
            ],
        ],
        Written(_SOURCES, "{I: 0}"),
        SOURCES,
    ] = {}
    """Which layer [produces](#sources) an input."""
    pr_loop_dims: Annotated[
        tuple[Annotated[Name, Written("a derived dimension such as IX")], ...],
        Written("a list of derived dimensions such as IX", "[IX, IY]"),
    ] = ()
    """The derived dimensions that `pr_loop_sizes` and `padding` describe."""
    pr_loop_sizes: Annotated[
        tuple[Annotated[Count, Written("a positive axis length")], ...] | None,
        Written(
            "a list of positive axis lengths",
            "[29, 29]",
            otherwise="the elements that the loops reach, minus the padding",
        ),
    ] = None
    """Elements of the tensor along each of `pr_loop_dims`, without padding."""
    padding: Annotated[
        tuple[
            Annotated[
                tuple[_Elements, _Elements], Written("the padding before and after, such as [1, 1]")
            ],
            ...,
        ]
        | None,
        Written("a list of paddings such as [1, 1]", "[[1, 1], [1, 1]]", otherwise="none"),
    ] = None
    """Zeros before and after the tensor along each of `pr_loop_dims`, which are read but not
    stored."""
    operand_density: Annotated[
        Mapping[Name, Share],
        Written(_SHARES, "{I: 0.42, O: 0.3}", origin=Origin.NESTMAP),
        DENSITIES,
    ] = {}
    """The [share of elements](#densities) of each operand that are not zero, of the output when it
    is finished; memories that compress and arrays that gate operations make use of it."""
    is_hidden: Annotated[object, ignored("[I]")] = None
    """Operands that are states of spiking neurons; they count as any other operand."""
