"""Reads workloads in ZigZag's YAML schema: a list of layers."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import Final

from nestmap.model import Layer, Workload, layer_from_equation
from nestmap.model.equation import Accesses, AxisFacts, parse_equation, parse_relation
from nestmap.pipeline.parsers.node import Node, suggestion
from nestmap.pipeline.parsers.source import read_yaml

_WEIGHT: Final = "W"
"""The input that is known before the network runs where no layer produces it."""

_FINAL: Final = "_final"
_SIZE: Final = "a positive loop size"
_BITS: Final = "a number of bits, not negative"
_LARGEST_SIZE: Final = 2**31 - 1

Fields = dict[str, Node]


def parse_workload_yaml(path: Path) -> Workload:
    """The workload that a YAML file in ZigZag's schema describes; its name is the file's.

    A layer without a name is called ``Layer`` and its id. An input whose source is the layer's
    own id, or that has no source, comes from outside: ``W`` is a constant, any other input is
    an input of the network. ``O`` is the precision of partial sums, ``O_final`` of results.

    Raises:
        InputError: where the file is not such a description; it names the line and the field.
    """
    root = read_yaml(path)
    nodes = root.sequence("a list of layers")
    if not nodes:
        raise root.error("at least one layer")
    layers = [_layer_fields(node) for node in nodes]
    names = _names(layers)
    sources = {i: _sources(i, layer, names) for i, layer in zip(names, layers, strict=True)}
    _check_acyclic(sources, names, dict(zip(names, layers, strict=True)))
    with root.checking():
        return Workload.of(
            *(
                _layer(node, fields, names[i], {k: names[v] for k, v in sources[i].items()})
                for i, node, fields in zip(names, nodes, layers, strict=True)
            ),
            name=path.stem,
        )


def _layer_fields(node: Node) -> Fields:
    return node.fields(
        ("id", "operator_type", "equation", "loop_dims", "loop_sizes", "operand_precision"),
        (
            "name",
            "dimension_relations",
            "operand_source",
            "pr_loop_dims",
            "pr_loop_sizes",
            "padding",
        ),
    )


def _names(layers: Collection[Fields]) -> dict[int, str]:
    """The name of each layer by its id, in file order."""
    names: dict[int, str] = {}
    taken: set[str] = set()
    for fields in layers:
        number = fields["id"].integer("the number of the layer")
        if number in names:
            raise fields["id"].error("a different id for each layer", f"a second layer {number}")
        given = fields.get("name")
        name = given.text("the name of the layer") if given else f"Layer{number}"
        if name in taken:
            where = given or fields["id"]
            raise where.error("a different name for each layer", f"a second layer {name!r}")
        names[number] = name
        taken.add(name)
    return names


def _sources(number: int, fields: Fields, names: Mapping[int, str]) -> dict[str, int]:
    """The layers that produce inputs, by operand."""
    if "operand_source" not in fields:
        return {}
    sources: dict[str, int] = {}
    for operand, node in fields["operand_source"].entries("layer ids by operand").items():
        source = node.integer("the id of a layer")
        if source not in names:
            known = ", ".join(str(i) for i in list(names)[:20])
            raise node.error(
                f"the id of a layer in the file ({known}{', ...' if len(names) > 20 else ''}), or "
                f"{number}, its own, for an input from outside"
            )
        if source != number:
            sources[operand] = source
    return sources


def _check_acyclic(
    sources: Mapping[int, Mapping[str, int]],
    names: Mapping[int, str],
    layers: Mapping[int, Fields],
) -> None:
    try:
        TopologicalSorter({i: of.values() for i, of in sources.items()}).prepare()
    except CycleError as error:
        cycle: list[int] = error.args[1]  # each produces for the next; the last is the first
        text = " -> ".join(repr(names[i]) for i in cycle)
        where = layers[min(cycle, key=list(names).index)]["operand_source"]
        raise where.error("layers without a cycle", f"the cycle {text}") from None


def _layer(node: Node, fields: Fields, name: str, sources: Mapping[str, str]) -> Layer:
    equation = fields["equation"]
    accesses = parse_equation(equation.text("an equation"), equation.where)
    sizes = _loop_sizes(fields)
    relations = _relations(fields, sizes)
    _check_equation(accesses, [*sizes, *relations], equation)
    (output, _), *inputs = accesses
    operands = [operand for operand, _ in inputs]
    _check_operands(fields, operands)
    bits = _precision(fields["operand_precision"], output, operands)
    with node.checking():
        return layer_from_equation(
            equation.text(),
            sizes,
            name=name,
            operator=fields["operator_type"].text("an operator type such as Conv"),
            relations=tuple(relations.values()),
            precision=bits | {output: bits.get(output + _FINAL, bits[output])},
            partial_precision=bits[output],
            sources=sources,
            constants=[o for o in operands if o == _WEIGHT and o not in sources],
            axes=_axes(fields, relations),
        )


def _loop_sizes(fields: Fields) -> dict[str, int]:
    """The size of each loop dimension."""
    names, sizes = fields["loop_dims"].sequence(), fields["loop_sizes"].sequence()
    if len(names) != len(sizes):
        raise fields["loop_sizes"].error(
            f"one size for each of {len(names)} loop dimensions", f"{len(sizes)} sizes"
        )
    loops: dict[str, int] = {}
    for name, size in zip(names, sizes, strict=True):
        dimension = name.name("a loop dimension such as OX").upper()
        if dimension in loops:
            raise name.error("each loop dimension once", f"a second {dimension}")
        loops[dimension] = size.integer(_SIZE, minimum=1, maximum=_LARGEST_SIZE)
    if not loops:
        raise fields["loop_dims"].error("at least one loop dimension")
    return loops


def _relations(fields: Fields, loops: Collection[str]) -> dict[str, str]:
    """The relations as text, by the dimension that they derive."""
    relations: dict[str, str] = {}
    for node in _items(fields, "dimension_relations"):
        text = node.text("a relation such as ix=2*ox+1*fx")
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
    if "operand_source" in fields:
        for operand, node in fields["operand_source"].entries().items():
            if operand not in operands:
                expected = f"an input of the equation: {suggestion(operand, operands)}"
                raise node.error(expected, f"the operand {operand!r}")


def _precision(node: Node, output: str, inputs: Collection[str]) -> dict[str, int]:
    """Bits by operand, with those of finished outputs under ``O_final``."""
    bits = node.fields((output, *inputs), (output + _FINAL, "W", "I"))
    return {name: value.integer(_BITS, minimum=0) for name, value in bits.items()}


def _axes(fields: Fields, relations: Collection[str]) -> dict[str, AxisFacts]:
    """Lengths and paddings of derived dimensions; what is not given follows from the loops."""
    names: list[str] = []
    for node in _items(fields, "pr_loop_dims"):
        name = node.name("a derived dimension such as IX").upper()
        if name not in relations or name in names:
            known = [relation for relation in relations if relation not in names]
            raise node.error(f"a dimension of dimension_relations: {suggestion(name, known)}")
        names.append(name)
    sizes: list[int | None] = [
        node.integer("a positive axis length", minimum=1, maximum=_LARGEST_SIZE)
        for node in _matching(fields, "pr_loop_sizes", len(names))
    ]
    paddings = [_padding(node) for node in _matching(fields, "padding", len(names))]
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


def _items(fields: Fields, name: str) -> tuple[Node, ...]:
    """The items of an optional list."""
    return fields[name].sequence() if name in fields else ()


def _matching(fields: Fields, name: str, count: int) -> tuple[Node, ...]:
    """The items of an optional list that goes with ``pr_loop_dims``."""
    items = _items(fields, name)
    if name in fields and len(items) != count:
        expected = f"one item for each of the {count} pr_loop_dims"
        raise fields[name].error(expected, f"a list of {len(items)} items")
    return items
