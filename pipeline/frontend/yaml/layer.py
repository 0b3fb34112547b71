"""Reads a layer of a workload in ZigZag's YAML schema."""

from collections.abc import Collection, Mapping
from typing import Final

from nestmap.model import Layer, layer_from_equation
from nestmap.model.base import copy_with
from nestmap.model.errors import nearest, shortened, suggestion, warn_of_input
from nestmap.model.workload.densities import set_layer_densities
from nestmap.model.workload.equation import Accesses, check_equation, parse_equation
from nestmap.model.workload.operator_types import has_products, is_operator_type, operator_types
from nestmap.pipeline.frontend.yaml.axes import (
    AXES,
    AXIS_SIZES,
    LARGEST_SIZE,
    PADDING,
    RELATIONS_FIELD,
    Fields,
    Relation,
    check_axes,
    parse_axes,
    parse_relations,
)
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

# --- reads operator types, which may be any text ---

_KIND: Final = "an operator type such as Conv"


def operator_type(node: Node) -> str:
    """The operator type; an unknown one is a warning.

    Raises:
        InputError: if the value is no text; the error names line and field.
    """
    name = node.text(_KIND)
    if not is_operator_type(name):
        found = f"the unknown operator type {shortened(repr(name))}"
        warn_of_input(node.where, found, nearest(name, operator_types()) or _KIND)
    return name


_WEIGHT: Final = "W"
"""The input that is constant unless a layer produces it."""

_FINAL: Final = "_final"
_SIZE: Final = "a positive loop size"

ID: Final = Field(
    "id", "the unique number of the layer, as in `operand_source`", "the number of the layer", "0"
)
_OPERATOR: Final = Field(
    "operator_type",
    "a name by which mapping entries may refer to the layer; has no other effect, except that IMC "
    "arrays skip `Pooling` and `Add`",
    "an operator type such as Conv",
    "Conv",
)
_EQUATION: Final = Field(
    "equation",
    "the computation: output on the left, one or two inputs on the right, each with the dimensions "
    "that index it. Dimensions that only index inputs are summed over; `=` then means `+=`",
    "an equation",
    "O[b][k][oy][ox]+=W[k][c][fy][fx]*I[b][c][iy][ix]",
)
_LOOP_DIMS: Final = Field(
    "loop_dims",
    "the loops: the dimensions of the equation, with those that `dimension_relations` derives "
    "replaced by the ones they are derived from",
    "a list of loop dimensions such as OX",
    "[B, K, C, OY, OX, FY, FX]",
)
_LOOP_SIZES: Final = Field(
    "loop_sizes",
    "iterations of each loop, in the order of `loop_dims`",
    "a list of positive loop sizes",
    "[1, 16, 3, 8, 8, 3, 3]",
)
_PRECISION: Final = Field(
    "operand_precision",
    "[bits per element](#precisions) of each operand",
    "the fields",
    "{W: 8, I: 8, O: 16, O_final: 8}",
)
_DENSITY: Final = Field(
    "operand_density",
    "the [share of elements](#densities) of each operand that are not zero, of the output when it "
    "is finished; memories that compress and arrays that gate operations make use of it",
    "shares by operand",
    "{I: 0.42, O: 0.3}",
    Need.OPTIONAL,
    default="{}",
    origin=Origin.NESTMAP,
)
_HIDDEN: Final = Field(
    "is_hidden",
    "operands that are states of spiking neurons; they count as any other operand",
    "anything",
    "[I]",
    Need.IGNORED,
)
NAME: Final = Field(
    "name",
    "the name of the layer in reports and mapping entries; a second layer of a name gets its id",
    "the name of the layer",
    "stem",
    Need.OPTIONAL,
    otherwise="`Layer` followed by its `id`",
)
SOURCE: Final = Field(
    "operand_source",
    "which layer [produces](#sources) an input",
    "layer ids, or lists of them, by operand",
    "{I: 0}",
    Need.OPTIONAL,
    default="{}",
)
LAYER: Final = Section(
    "Layer",
    (ITEM,),
    "A workload file is a list of layers.",
    (
        *(ID, _OPERATOR, _EQUATION, _LOOP_DIMS, _LOOP_SIZES, _PRECISION),
        *(NAME, RELATIONS_FIELD, SOURCE, AXES, AXIS_SIZES, PADDING, _DENSITY, _HIDDEN),
    ),
)
RELATIONS: Final = Entries(
    "Derived dimensions",
    (*LAYER.at, RELATIONS_FIELD.name),
    "Each item derives a dimension from two loops, such as the input column `ix` of a convolution "
    "from the output column `ox` and the filter column `fx`.",
    RELATIONS_FIELD.kind,
    (
        Form("ix=2*ox+1*fx", "`ix` steps by 2 with `ox` (the stride), by 1 with `fx`"),
        Form("ix=ox+fx", "the same as `ix=1*ox+1*fx`"),
    ),
)
SOURCES: Final = Entries(
    "Sources",
    (*LAYER.at, SOURCE.name),
    "By input. An input that is not listed comes from outside: `W` is a constant, any other one is "
    "an input of the network. Layers may be listed in any order but must not form a cycle.",
    SOURCE.kind,
    (
        Form("I: 0", "the output of layer 0; in layer 0 itself, an input from outside"),
        Form("I: [0, 1]", "the outputs of layers 0 and 1, concatenated"),
    ),
)

_SHARE: Final = "a share of elements, above 0 and at most 1"
DENSITIES: Final = Entries(
    "Densities",
    (*LAYER.at, _DENSITY.name),
    "By operand; one that is not listed has no zeros. Zeros are anywhere in the tensor.",
    _DENSITY.kind,
    (Form("I: 0.42", "58 % of the elements of `I` are zero"),),
)


def precisions(output: str, inputs: Collection[str]) -> Section:
    """The schema of the field ``operand_precision`` for the given operands."""
    bits = "a number of bits, not negative"
    known = (output, *inputs)
    others = [name for name in ("W", "I") if name not in known]
    return Section(
        "Precisions",
        (*LAYER.at, _PRECISION.name),
        "Bits of each operand of the equation, by name, and of finished outputs.",
        (
            Field(output, "of a partial sum of the output", bits, "16"),
            *(Field(name, "of the input of that name", bits, "8") for name in inputs),
            Field(
                output + _FINAL,
                "of a finished output",
                bits,
                "8",
                Need.OPTIONAL,
                otherwise=f"that of `{output}`",
            ),
            *(Field(name, "", bits, "8", Need.IGNORED) for name in others),
        ),
    )


def parse_layer(node: Node, fields: Fields, name: str, sources: Mapping[str, str]) -> Layer:
    """The layer that ``fields`` of ``node`` describe; ``sources`` are the producers by input.

    Raises:
        InputError: if they do not describe a layer; the error names line and field.
    """
    equation = fields[_EQUATION]
    accesses = parse_equation(equation.text(_EQUATION.kind), equation.where)
    sizes = _loop_sizes(fields)
    relations = parse_relations(fields, sizes)
    text = _checked_equation(accesses, sizes, relations, equation)
    (output, _), *inputs = accesses
    operands = [operand for operand, _ in inputs]
    _check_operands(fields, operands)
    bits = _precision(fields[_PRECISION], output, operands)
    axes = parse_axes(fields, relations)
    check_axes(fields, relations, axes, sizes)
    operator = operator_type(fields[_OPERATOR])
    if len(inputs) > 1 and not has_products(operator):
        found = f"{operator}, which multiplies nothing, and an equation of products"
        warn_of_input(fields[_OPERATOR].where, found, "the operator that the equation computes")
    with node.locate_errors():
        layer = layer_from_equation(
            text,
            sizes,
            name=name,
            operator=operator,
            relations=tuple(relation.node.text() for relation in relations.values()),
            precision=bits | {output: bits.get(output + _FINAL, bits[output])},
            partial_precision=bits[output],
            sources=sources,
            constants=[o for o in operands if o == _WEIGHT and o not in sources],
            axes=axes,
        )
    if _HIDDEN in fields:
        found = "states of spiking neurons, which stay from one time step to the next"
        warn_of_input(fields[_HIDDEN].where, found, "none: they count as any other operand")
    stated = fields[NAME].text(NAME.kind) if NAME in fields else name
    if stated != name:
        layer = copy_with(layer, {"alias": stated})
    densities = _densities(fields, [output, *operands])
    return set_layer_densities(layer, densities) if densities else layer


def _loop_sizes(fields: Fields) -> dict[str, int]:
    """The size of each loop dimension."""
    names, sizes = fields[_LOOP_DIMS].sequence(), fields[_LOOP_SIZES].sequence()
    if len(names) != len(sizes):
        raise fields[_LOOP_SIZES].error(
            f"one size for each of {len(names)} loop dimensions", f"{len(sizes)} sizes"
        )
    loops: dict[str, int] = {}
    for name, size in zip(names, sizes, strict=True):
        dimension = name.name("a loop dimension such as OX").upper()
        if dimension in loops:
            raise name.error("each loop dimension once", f"a second {dimension}")
        loops[dimension] = size.integer(_SIZE, minimum=1, maximum=LARGEST_SIZE)
    if not loops:
        raise fields[_LOOP_DIMS].error("at least one loop dimension")
    return loops


def _checked_equation(
    accesses: Accesses, sizes: Mapping[str, int], relations: Mapping[str, Relation], equation: Node
) -> str:
    """Checks that operands have different names, that indices exist, and what is summed.

    Returns the equation. As in ZigZag, ``=`` before a product means ``+=`` where it sums.
    """
    known = [*sizes, *relations]
    operands = [operand for operand, _ in accesses]
    for operand, indices in accesses:
        if operands.count(operand) > 1:
            raise equation.error("a different name for each operand", f"a second {operand}")
        for index in indices:
            if index not in known:
                expected = f"a dimension of the layer: {suggestion(index, known)}"
                raise equation.error(expected, f"the index {index} of {operand}")
    loops = {name: relation.axis.dimensions for name, relation in relations.items()}
    used = [{d for i in indices for d in loops.get(i, (i,))} for _, indices in accesses]
    left, _, right = equation.text().partition("=")
    is_sum = any(size > 1 and d not in used[0] for d, size in sizes.items())
    if is_sum and "+" not in left and "*" in right:
        text = f"{left}+={right}"
        warn_of_input(equation.where, f"{shortened(repr(equation.text()))}, which sums", f"{text}")
    else:
        text = equation.text()
    check_equation(text, sizes, used, equation.where)
    return text


def _check_operands(fields: Fields, operands: Collection[str]) -> None:
    """Checks that every source is for an input of the equation."""
    if SOURCE in fields:
        for operand, node in fields[SOURCE].entries().items():
            if operand not in operands:
                expected = f"an input of the equation: {suggestion(operand, operands)}"
                raise node.error(expected, f"the operand {operand!r}")


def _densities(fields: Fields, operands: Collection[str]) -> dict[str, float]:
    """Shares of elements that are not zero, by operand."""
    if _DENSITY not in fields:
        return {}
    found: dict[str, float] = {}
    for operand, node in fields[_DENSITY].named(_DENSITY.kind).items():
        if operand not in operands:
            expected = f"an operand of the equation: {suggestion(operand, operands)}"
            raise node.error(expected, f"the operand {operand!r}")
        found[operand] = node.number(_SHARE, minimum=0)
        if not 0 < found[operand] <= 1:
            raise node.error(_SHARE)
    return found


def _precision(node: Node, output: str, inputs: Collection[str]) -> dict[str, int]:
    """Bits by operand, with those of finished outputs under ``O_final``."""
    given = node.fields(precisions(output, inputs))
    places = {field.name: value for field, value in given.items()}
    bits = {field.name: value.integer(field.kind, minimum=0) for field, value in given.items()}
    final = output + _FINAL
    for name in {output, final} & bits.keys():
        if not bits[name]:
            raise places[name].error("at least 1 bit of an output", "0")
    if bits.get(final, 0) > bits[output]:
        found = (
            f"{bits[final]} bits of a finished output, of which a partial sum has {bits[output]}"
        )
        raise places[final].error("at most the bits of a partial sum", found)
    widest = max(inputs, key=lambda name: bits[name], default=None)
    if widest is not None and bits[widest] > bits[output]:
        found = f"partial sums of {bits[output]} bits, narrower than {widest} with {bits[widest]}"
        warn_of_input(places[output].where, found, "at least the bits of each factor")
    return bits
