"""Reads a layer of a workload in ZigZag's YAML schema."""

from collections.abc import Collection, Mapping
from typing import Final

from nestmap.model import Layer, layer_from_equation
from nestmap.model.base import copy_with
from nestmap.model.errors import nearest, shortened, suggestion, warn_of_input
from nestmap.model.workload.affine import AffineIndex
from nestmap.model.workload.densities import set_layer_densities
from nestmap.model.workload.equation import (
    Accesses,
    AxisExtent,
    check_equation,
    parse_equation,
    parse_relation,
)
from nestmap.model.workload.operator_types import has_products, is_operator_type, operator_types
from nestmap.model.workload.stated_axis import axis_contradiction, axis_doubt
from nestmap.pipeline.frontend.yaml.layer_fields import LayerFields
from nestmap.pipeline.frontend.yaml.located_node import Node

_WEIGHT: Final = "W"
"""The input that is constant unless a layer produces it."""

_FINAL: Final = "_final"


Places = Mapping[str, Node]
"""The fields of a layer that a file has, by name."""


def parse_layer(node: Node, given: LayerFields, name: str, sources: Mapping[str, str]) -> Layer:
    """The layer that the fields of ``node`` describe; ``sources`` are the producers by input.

    Raises:
        InputError: if they do not describe a layer; the error names line and field.
    """
    places = node.entries()
    accesses = parse_equation(given.equation, places["equation"].where)
    sizes = _loop_sizes(places, given)
    relations = _relations(places, given, sizes)
    text = _checked_equation(places["equation"], given.equation, accesses, sizes, relations)
    (output, _), *inputs = accesses
    operands = [operand for operand, _ in inputs]
    _check_operands(places, "operand_source", given.operand_source, ("an input", operands))
    bits = _precision(places, given, output, operands)
    axes = _axes(places, given, relations)
    _check_axes(places, given, relations, axes, sizes)
    check_operator_type(given.operator_type, node, "operator_type")
    if len(inputs) > 1 and not has_products(given.operator_type):
        found = f"{given.operator_type}, which multiplies nothing, and an equation of products"
        expected = "the operator that the equation computes"
        warn_of_input(places["operator_type"].where, found, expected)
    with node.locate_errors():
        layer = layer_from_equation(
            text,
            sizes,
            name=name,
            operator=given.operator_type,
            relations=given.dimension_relations,
            precision=bits | {output: bits.get(output + _FINAL, bits[output])},
            partial_precision=bits[output],
            sources=sources,
            constants=[o for o in operands if o == _WEIGHT and o not in sources],
            axes=axes,
        )
    if given.is_hidden is not None:
        found = "states of spiking neurons, which stay from one time step to the next"
        warn_of_input(places["is_hidden"].where, found, "none: they count as any other operand")
    if given.name is not None and given.name != name:
        layer = copy_with(layer, {"alias": given.name})
    every, densities = ("an operand", [output, *operands]), dict(given.operand_density)
    _check_operands(places, "operand_density", densities, every)
    return set_layer_densities(layer, densities) if densities else layer


def check_operator_type(name: str, node: Node, *field: str | int) -> None:
    """Warns of an unknown operator type, which a field of ``node`` states; it may be any text."""
    if not is_operator_type(name):
        found = f"the unknown operator type {shortened(repr(name))}"
        expected = nearest(name, operator_types()) or "an operator type such as Conv"
        warn_of_input(node.at(*field).where, found, expected)


def _loop_sizes(places: Places, given: LayerFields) -> dict[str, int]:
    """The size of each loop dimension."""
    names, sizes = given.loop_dims, given.loop_sizes
    if len(names) != len(sizes):
        expected = f"one size for each of {len(names)} loop dimensions"
        raise places["loop_sizes"].error(expected, f"{len(sizes)} sizes")
    loops: dict[str, int] = {}
    for i, (name, size) in enumerate(zip(names, sizes, strict=True)):
        dimension = name.upper()
        if dimension in loops:
            found = f"a second {dimension}"
            raise places["loop_dims"].at(i).error("each loop dimension once", found)
        loops[dimension] = size
    if not loops:
        raise places["loop_dims"].error("at least one loop dimension")
    return loops


def _checked_equation(
    place: Node,
    stated: str,
    accesses: Accesses,
    sizes: Mapping[str, int],
    relations: Mapping[str, AffineIndex],
) -> str:
    """Checks that operands have different names, that indices exist, and what is summed.

    Returns the equation. As in ZigZag, ``=`` before a product means ``+=`` where it sums.
    """
    known = [*sizes, *relations]
    operands = [operand for operand, _ in accesses]
    for operand, indices in accesses:
        if operands.count(operand) > 1:
            raise place.error("a different name for each operand", f"a second {operand}")
        for index in indices:
            if index not in known:
                expected = f"a dimension of the layer: {suggestion(index, known)}"
                raise place.error(expected, f"the index {index} of {operand}")
    loops = {name: axis.dimensions for name, axis in relations.items()}
    used = [{d for i in indices for d in loops.get(i, (i,))} for _, indices in accesses]
    left, _, right = stated.partition("=")
    is_sum = any(size > 1 and d not in used[0] for d, size in sizes.items())
    text = stated
    if is_sum and "+" not in left and "*" in right:
        text = f"{left}+={right}"
        warn_of_input(place.where, f"{shortened(repr(stated))}, which sums", text)
    check_equation(text, sizes, used, place.where)
    return text


def _check_operands(
    places: Places, field: str, stated: Collection[str], known: tuple[str, Collection[str]]
) -> None:
    """Checks that all operands that a field states are in the equation; ``known`` says as what."""
    what, operands = known
    for operand in stated:
        if operand not in operands:
            expected = f"{what} of the equation: {suggestion(operand, operands)}"
            raise places[field].at(operand).error(expected, f"the operand {operand!r}")


def _precision(
    places: Places, given: LayerFields, output: str, inputs: Collection[str]
) -> dict[str, int]:
    """Bits by operand, with those of finished outputs under ``O_final``."""
    bits, final, place = dict(given.operand_precision), output + _FINAL, "operand_precision"
    known = (output, *inputs, final, _WEIGHT, "I")
    for name in bits:
        if name not in known:
            found, expected = f"the unknown field {shortened(repr(name))}", suggestion(name, known)
            raise places[place].at(name).error(expected, found)
    for name in (output, *inputs):
        if name not in bits:
            raise places[place].error(f"the field {name}", f"no {name}")
    for name in {output, final} & bits.keys():
        if not bits[name]:
            raise places[place].at(name).error("at least 1 bit of an output", "0")
    if bits.get(final, 0) > bits[output]:
        found = (
            f"{bits[final]} bits of a finished output, of which a partial sum has {bits[output]}"
        )
        raise places[place].at(final).error("at most the bits of a partial sum", found)
    widest = max(inputs, key=lambda name: bits[name], default=None)
    if widest is not None and bits[widest] > bits[output]:
        found = f"partial sums of {bits[output]} bits, narrower than {widest} with {bits[widest]}"
        warn_of_input(places[place].at(output).where, found, "at least the bits of each factor")
    return bits


# --- derived dimensions: relations, and the stated lengths and paddings of axes ---


def _relations(
    places: Places, given: LayerFields, loops: Collection[str]
) -> dict[str, AffineIndex]:
    """The relations by the dimension they derive."""
    relations: dict[str, AffineIndex] = {}
    if not given.dimension_relations:
        return relations
    items = places["dimension_relations"].sequence()
    for place, text in zip(items, given.dimension_relations, strict=True):
        with place.locate_errors():
            derived, index = parse_relation(text, place.where)
        for dimension in index.dimensions:
            if dimension not in loops:
                expected = f"loop dimensions on the right: {suggestion(dimension, loops)}"
                raise place.error(expected, f"{dimension} in {text!r}")
        if derived in loops or derived in relations:
            raise place.error("a new dimension on the left", f"a second {derived}")
        relations[derived] = index
    return relations


def _axes(places: Places, given: LayerFields, relations: Collection[str]) -> dict[str, AxisExtent]:
    """The lengths and paddings of derived dimensions that the file states."""
    names: list[str] = []
    for i, name in enumerate(map(str.upper, given.pr_loop_dims)):
        if name not in relations or name in names:
            known = [relation for relation in relations if relation not in names]
            expected = f"a dimension of dimension_relations: {suggestion(name, known)}"
            raise places["pr_loop_dims"].at(i).error(expected)
        names.append(name)
    stated = {"pr_loop_sizes": given.pr_loop_sizes, "padding": given.padding}
    for field, items in stated.items():
        if items is not None and len(items) != len(names):
            expected = f"one item for each of the {len(names)} pr_loop_dims"
            raise places[field].error(expected, f"a list of {len(items)} items")
    sizes = given.pr_loop_sizes or (None,) * len(names)
    paddings = given.padding or ((0, 0),) * len(names)
    return dict(zip(names, zip(sizes, paddings, strict=True), strict=True))


def _check_axes(
    places: Places,
    given: LayerFields,
    relations: Mapping[str, AffineIndex],
    axes: Mapping[str, AxisExtent],
    sizes: Mapping[str, int],
) -> None:
    """Checks the stated lengths and paddings against the loops."""
    names = list(axes)
    for n, (name, relation) in enumerate(relations.items()):
        size, padding = axes.get(name, (None, (0, 0)))
        index = copy_with(relation, {"size": size, "padding": padding})
        wrong, doubtful = axis_contradiction(index, sizes), axis_doubt(index, sizes)
        if wrong is None and doubtful is None:
            continue
        place = places["dimension_relations"].at(n)
        stated = [x for x in ("pr_loop_sizes", "padding") if x in given.model_fields_set]
        if name in axes and stated:
            place = places[stated[0]].at(names.index(name))
        if wrong is not None:
            raise place.error(wrong.expected, wrong.found)
        if doubtful is not None:
            warn_of_input(place.where, *doubtful)
