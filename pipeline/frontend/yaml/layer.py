"""Reads a layer of a workload in ZigZag's YAML schema."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final

from nestmap.model import Layer, layer_from_equation
from nestmap.model.errors import suggestion
from nestmap.model.workload.equation import Accesses, AxisFacts, parse_equation, parse_relation
from nestmap.pipeline.frontend.yaml.field_schema import ITEM, Entries, Field, Form, Need, Section
from nestmap.pipeline.frontend.yaml.located_node import Node

Fields = Mapping[Field, Node]
"""The fields of a layer that are there."""

_WEIGHT: Final = "W"
"""The input that is known before the network runs where no layer produces it."""

_FINAL: Final = "_final"
_SIZE: Final = "a positive loop size"
_RELATION: Final = "a relation such as ix=2*ox+1*fx"
_LARGEST_SIZE: Final = 2**31 - 1

ID: Final = Field(
    "id", "how `operand_source` calls the layer; each number once", "the number of the layer", "0"
)
_OPERATOR: Final = Field(
    "operator_type",
    "what mapping entries may call the layer by; says nothing else, but that IMC arrays skip "
    "`Pooling` and `Add`",
    "an operator type such as Conv",
    "Conv",
)
_EQUATION: Final = Field(
    "equation",
    "what is computed: output on the left, one or two inputs on the right, each with the "
    "dimensions that index it. Dimensions that only inputs have are summed over",
    "an equation",
    "O[b][k][oy][ox]+=W[k][c][fy][fx]*I[b][c][iy][ix]",
)
_LOOP_DIMS: Final = Field(
    "loop_dims",
    "the loops: the dimensions of the equation, but for those that `dimension_relations` derives; "
    "instead of these those that they are derived from",
    "a list of loop dimensions such as OX",
    "[B, K, C, OY, OX, FY, FX]",
)
_LOOP_SIZES: Final = Field(
    "loop_sizes",
    "iterations of each loop, in the order of `loop_dims`",
    "a list of positive loop sizes",
    "[1, 16, 8, 14, 14, 3, 3]",
)
_PRECISION: Final = Field(
    "operand_precision",
    "[bits an element](#precisions) of each operand",
    "a mapping",
    "{W: 8, I: 8, O: 16, O_final: 8}",
)
NAME: Final = Field(
    "name",
    "how reports and mapping entries call the layer; each name once",
    "the name of the layer",
    "stem",
    Need.OPTIONAL,
    otherwise="`Layer` and its `id`",
)
_RELATIONS: Final = Field(
    "dimension_relations",
    "how [dimensions](#derived-dimensions) of the equation that are no loops follow from loops",
    "a list of relations such as ix=2*ox+1*fx",
    "[ix=2*ox+1*fx, iy=2*oy+1*fy]",
    Need.OPTIONAL,
    default="[]",
)
SOURCE: Final = Field(
    "operand_source",
    "which layer [produces](#sources) an input",
    "layer ids by operand",
    "{I: 0}",
    Need.OPTIONAL,
    default="{}",
)
_AXES: Final = Field(
    "pr_loop_dims",
    "derived dimensions of which `pr_loop_sizes` and `padding` say more",
    "a list of derived dimensions such as IX",
    "[IX, IY]",
    Need.OPTIONAL,
    default="[]",
)
_AXIS_SIZES: Final = Field(
    "pr_loop_sizes",
    "elements that the tensor has along each of `pr_loop_dims`, padding not counted",
    "a list of positive axis lengths",
    "[29, 29]",
    Need.OPTIONAL,
    otherwise="as many as the loops reach, less the padding",
)
_PADDING: Final = Field(
    "padding",
    "elements before and after the tensor along each of `pr_loop_dims` that are read as zeros and "
    "not stored",
    "a list of paddings such as [1, 1]",
    "[[1, 1], [1, 1]]",
    Need.OPTIONAL,
    otherwise="none",
)

LAYER: Final = Section(
    "Layer",
    (ITEM,),
    "A workload file is a list of layers.",
    (
        *(ID, _OPERATOR, _EQUATION, _LOOP_DIMS, _LOOP_SIZES, _PRECISION),
        *(NAME, _RELATIONS, SOURCE, _AXES, _AXIS_SIZES, _PADDING),
    ),
)
RELATIONS: Final = Entries(
    "Derived dimensions",
    (*LAYER.at, _RELATIONS.name),
    "Each item derives a dimension from two loops, as the pixels of an input that a convolution "
    "needs: `ox` is the output column, `fx` that of the filter.",
    _RELATIONS.kind,
    (
        Form("ix=2*ox+1*fx", "`ix` steps by 2 with `ox` (the stride), by 1 with `fx`"),
        Form("ix=ox+fx", "the same as `ix=1*ox+1*fx`"),
    ),
)
SOURCES: Final = Entries(
    "Sources",
    (*LAYER.at, SOURCE.name),
    "By input. An input that is not listed comes from outside: `W` is a constant, any other one is "
    "an input of the network. Layers may stand in any order, but there is no cycle.",
    SOURCE.kind,
    (Form("I: 0", "the output of layer 0; from outside where that is the layer itself"),),
)


def precisions(output: str, inputs: Collection[str]) -> Section:
    """The precisions of a layer with such operands."""
    bits = "a number of bits, not negative"
    known = (output, *inputs)
    others = [name for name in ("W", "I") if name not in known]
    return Section(
        "Precisions",
        (*LAYER.at, _PRECISION.name),
        "Each operand of the equation under its name, and finished outputs; as here.",
        (
            Field(output, "of a partial sum of the output", bits, "16"),
            *(Field(name, "of the input of that name", bits, "8") for name in inputs),
            Field(
                output + _FINAL,
                "of a finished output",
                bits,
                "8",
                Need.OPTIONAL,
                otherwise=f"as `{output}`",
            ),
            *(Field(name, "", bits, "8", Need.IGNORED) for name in others),
        ),
    )


def parse_layer(node: Node, fields: Fields, name: str, sources: Mapping[str, str]) -> Layer:
    """The layer that ``fields`` of ``node`` describe; ``sources`` are the producers of inputs.

    Raises:
        InputError: where they do not describe one; it names the line and the field.
    """
    equation = fields[_EQUATION]
    accesses = parse_equation(equation.text(_EQUATION.kind), equation.where)
    sizes = _loop_sizes(fields)
    relations = _relations(fields, sizes)
    _check_equation(accesses, [*sizes, *relations], equation)
    (output, _), *inputs = accesses
    operands = [operand for operand, _ in inputs]
    _check_operands(fields, operands)
    bits = _precision(fields[_PRECISION], output, operands)
    with node.checking():
        return layer_from_equation(
            equation.text(),
            sizes,
            name=name,
            operator=fields[_OPERATOR].text(_OPERATOR.kind),
            relations=tuple(relations.values()),
            precision=bits | {output: bits.get(output + _FINAL, bits[output])},
            partial_precision=bits[output],
            sources=sources,
            constants=[o for o in operands if o == _WEIGHT and o not in sources],
            axes=_axes(fields, relations),
        )


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
        loops[dimension] = size.integer(_SIZE, minimum=1, maximum=_LARGEST_SIZE)
    if not loops:
        raise fields[_LOOP_DIMS].error("at least one loop dimension")
    return loops


def _relations(fields: Fields, loops: Collection[str]) -> dict[str, str]:
    """The relations as text, by the dimension that they derive."""
    relations: dict[str, str] = {}
    for node in _items(fields, _RELATIONS):
        text = node.text(_RELATION)
        with node.checking():
            derived, index = parse_relation(text, node.where)
        for dimension in index.dimensions:
            if dimension not in loops:
                expected = f"loop dimensions on the right: {suggestion(dimension, loops)}"
                raise node.error(expected, f"{dimension} in {text!r}")
        if derived in loops or derived in relations:
            raise node.error("a new dimension on the left", f"a second {derived}")
        relations[derived] = text
    return relations


def _check_equation(accesses: Accesses, known: Collection[str], equation: Node) -> None:
    """Operands differ, and the layer has a dimension for each index."""
    operands = [operand for operand, _ in accesses]
    for operand, indices in accesses:
        if operands.count(operand) > 1:
            raise equation.error("a different name for each operand", f"a second {operand}")
        for index in indices:
            if index not in known:
                expected = f"a dimension of the layer: {suggestion(index, known)}"
                raise equation.error(expected, f"the index {index} of {operand}")


def _check_operands(fields: Fields, operands: Collection[str]) -> None:
    """Sources are for inputs of the equation."""
    if SOURCE in fields:
        for operand, node in fields[SOURCE].entries().items():
            if operand not in operands:
                expected = f"an input of the equation: {suggestion(operand, operands)}"
                raise node.error(expected, f"the operand {operand!r}")


def _precision(node: Node, output: str, inputs: Collection[str]) -> dict[str, int]:
    """Bits by operand, with those of finished outputs under ``O_final``."""
    bits = node.fields(precisions(output, inputs))
    return {field.name: value.integer(field.kind, minimum=0) for field, value in bits.items()}


def _axes(fields: Fields, relations: Collection[str]) -> dict[str, AxisFacts]:
    """Lengths and paddings of derived dimensions; what is not given follows from the loops."""
    names: list[str] = []
    for node in _items(fields, _AXES):
        name = node.name("a derived dimension such as IX").upper()
        if name not in relations or name in names:
            known = [relation for relation in relations if relation not in names]
            raise node.error(f"a dimension of dimension_relations: {suggestion(name, known)}")
        names.append(name)
    sizes: list[int | None] = [
        node.integer("a positive axis length", minimum=1, maximum=_LARGEST_SIZE)
        for node in _matching(fields, _AXIS_SIZES, len(names))
    ]
    paddings = [_padding(node) for node in _matching(fields, _PADDING, len(names))]
    return dict(
        zip(
            names,
            zip(
                sizes or [None] * len(names),
                paddings or [(0, 0)] * len(names),
                strict=True,
            ),
            strict=True,
        )
    )


def _padding(node: Node) -> tuple[int, int]:
    expected = "the padding before and after, such as [1, 1]"
    items = node.sequence(expected)
    if len(items) != 2:
        raise node.error(expected, f"a list of {len(items)} items")
    before, after = (
        item.integer("a number of elements, not negative", minimum=0, maximum=_LARGEST_SIZE)
        for item in items
    )
    return before, after


def _items(fields: Fields, field: Field) -> tuple[Node, ...]:
    """The items of an optional list."""
    return fields[field].sequence() if field in fields else ()


def _matching(fields: Fields, field: Field, count: int) -> tuple[Node, ...]:
    """The items of an optional list that goes with ``pr_loop_dims``."""
    items = _items(fields, field)
    if field in fields and len(items) != count:
        expected = f"one item for each of the {count} pr_loop_dims"
        raise fields[field].error(expected, f"a list of {len(items)} items")
    return items
