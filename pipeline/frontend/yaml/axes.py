"""Reads derived dimensions of a layer: relations, and the stated lengths and paddings of axes."""

from collections.abc import Collection, Mapping
from typing import Final, NamedTuple

from nestmap.model.base import copy_with
from nestmap.model.errors import suggestion, warn_of_input
from nestmap.model.workload.affine import AffineIndex
from nestmap.model.workload.equation import AxisExtent, parse_relation
from nestmap.model.workload.stated_axis import axis_contradiction, axis_doubt
from nestmap.pipeline.frontend.yaml.field_schema import Field, Need
from nestmap.pipeline.frontend.yaml.located_node import Node

Fields = Mapping[Field, Node]
"""The fields of a layer that are present in the file."""

LARGEST_SIZE: Final = 2**31 - 1
"""The largest size of a loop or an axis."""

_RELATION: Final = "a relation such as ix=2*ox+1*fx"

RELATIONS_FIELD: Final = Field(
    "dimension_relations",
    "how [dimensions](#derived-dimensions) of the equation that are not loops depend on loops",
    "a list of relations such as ix=2*ox+1*fx",
    "[ix=2*ox+1*fx, iy=2*oy+1*fy]",
    Need.OPTIONAL,
    default="[]",
)
AXES: Final = Field(
    "pr_loop_dims",
    "the derived dimensions that `pr_loop_sizes` and `padding` describe",
    "a list of derived dimensions such as IX",
    "[IX, IY]",
    Need.OPTIONAL,
    default="[]",
)
AXIS_SIZES: Final = Field(
    "pr_loop_sizes",
    "elements of the tensor along each of `pr_loop_dims`, without padding",
    "a list of positive axis lengths",
    "[29, 29]",
    Need.OPTIONAL,
    otherwise="the elements that the loops reach, minus the padding",
)
PADDING: Final = Field(
    "padding",
    "zeros before and after the tensor along each of `pr_loop_dims`, which are read but not stored",
    "a list of paddings such as [1, 1]",
    "[[1, 1], [1, 1]]",
    Need.OPTIONAL,
    otherwise="none",
)


class Relation(NamedTuple):
    """A relation and its place."""

    node: Node
    axis: AffineIndex


def parse_relations(fields: Fields, loops: Collection[str]) -> dict[str, Relation]:
    """The relations by the dimension they derive."""
    relations: dict[str, Relation] = {}
    for node in _items(fields, RELATIONS_FIELD):
        text = node.text(_RELATION)
        with node.locate_errors():
            derived, index = parse_relation(text, node.where)
        for dimension in index.dimensions:
            if dimension not in loops:
                expected = f"loop dimensions on the right: {suggestion(dimension, loops)}"
                raise node.error(expected, f"{dimension} in {text!r}")
        if derived in loops or derived in relations:
            raise node.error("a new dimension on the left", f"a second {derived}")
        relations[derived] = Relation(node, index)
    return relations


def parse_axes(fields: Fields, relations: Collection[str]) -> dict[str, AxisExtent]:
    """The lengths and paddings of derived dimensions that the file states."""
    names: list[str] = []
    for node in _items(fields, AXES):
        name = node.name("a derived dimension such as IX").upper()
        if name not in relations or name in names:
            known = [relation for relation in relations if relation not in names]
            raise node.error(f"a dimension of dimension_relations: {suggestion(name, known)}")
        names.append(name)
    sizes: list[int | None] = [
        node.integer("a positive axis length", minimum=1, maximum=LARGEST_SIZE)
        for node in _matching(fields, AXIS_SIZES, len(names))
    ]
    paddings = [_padding(node) for node in _matching(fields, PADDING, len(names))]
    return dict(
        zip(
            names,
            zip(sizes or [None] * len(names), paddings or [(0, 0)] * len(names), strict=True),
            strict=True,
        )
    )


def check_axes(
    fields: Fields,
    relations: Mapping[str, Relation],
    axes: Mapping[str, AxisExtent],
    sizes: Mapping[str, int],
) -> None:
    """Checks the stated lengths and paddings against the loops."""
    names = list(axes)
    for name, relation in relations.items():
        size, padding = axes.get(name, (None, (0, 0)))
        index = copy_with(relation.axis, {"size": size, "padding": padding})
        place = relation.node
        stated = fields.get(AXIS_SIZES, fields.get(PADDING))
        if name in axes and stated is not None:
            place = stated.sequence()[names.index(name)]
        wrong, doubtful = axis_contradiction(index, sizes), axis_doubt(index, sizes)
        if wrong is not None:
            raise place.error(wrong.expected, wrong.found)
        if doubtful is not None:
            warn_of_input(place.where, *doubtful)


def _padding(node: Node) -> tuple[int, int]:
    expected = "the padding before and after, such as [1, 1]"
    items = node.sequence(expected)
    if len(items) != 2:
        raise node.error(expected, f"a list of {len(items)} items")
    before, after = (
        item.integer("a number of elements, not negative", minimum=0, maximum=LARGEST_SIZE)
        for item in items
    )
    return before, after


def _items(fields: Fields, field: Field) -> tuple[Node, ...]:
    """The items of an optional list."""
    return fields[field].sequence() if field in fields else ()


def _matching(fields: Fields, field: Field, count: int) -> tuple[Node, ...]:
    """The items of an optional list with one item for each of ``pr_loop_dims``."""
    items = _items(fields, field)
    if field in fields and len(items) != count:
        expected = f"one item for each of the {count} pr_loop_dims"
        raise fields[field].error(expected, f"a list of {len(items)} items")
    return items
