"""Whether the stated length and padding of an axis suit the loops that walk along it."""

from collections.abc import Mapping
from typing import NamedTuple

from nestmap.model.dims import Dimension
from nestmap.model.workload.affine import AffineIndex, distinct_values


class AxisFinding(NamedTuple):
    """What is wrong or doubtful about an axis, and what would be right, for messages."""

    found: str
    expected: str


def axis_contradiction(index: AffineIndex, sizes: Mapping[Dimension, int]) -> AxisFinding | None:
    """How the length and the padding of an axis contradict the loops, if they do.

    The loops must stay on the padded axis, and reach its padding, of which strides may skip less
    than a step.
    """
    if len(index.terms) == 1:
        return None
    reached, padding = _reached(index, sizes), sum(index.padding)
    before, after = index.padding
    if index.size is None:
        if padding < reached:
            return None
        found = f"padding {before} and {after} along {_loops(index, sizes)}"
        return AxisFinding(found, f"less padding than the {reached:,} elements that they reach")
    if index.size + padding < reached:
        expected = f"the {reached:,} elements that they reach, padding included"
        return AxisFinding(_stated(index, sizes), expected)
    left_out = index.size + padding - reached
    ends_inside = reached <= before + index.size
    if reached <= before or (after and ends_inside and left_out >= _step(index)):
        expected = f"padding within the {reached:,} elements that they reach"
        return AxisFinding(_stated(index, sizes), expected)
    return None


def axis_doubt(index: AffineIndex, sizes: Mapping[Dimension, int]) -> AxisFinding | None:
    """What is unusual about an axis, if anything: most of it, or its end, is never read."""
    if len(index.terms) == 1:
        return None
    reached, (a, b) = _reached(index, sizes), (sizes[d] for d in index.dimensions)
    if index.size is not None and index.size + sum(index.padding) - reached >= _step(index):
        expected = f"the {reached:,} elements that they reach, padding included"
        return AxisFinding(_stated(index, sizes), expected)
    read = int(distinct_values(a, b, *index.steps))
    if min(a, b) > 1 and 2 * read < reached:
        found = f"{index}, which reads {read:,} of {reached:,} elements"
        return AxisFinding(found, "steps that leave out fewer elements than they read")
    return None


def _reached(index: AffineIndex, sizes: Mapping[Dimension, int]) -> int:
    """The positions from the first to the last that the loops touch."""
    return 1 + sum(term.coefficient * (sizes[term.dimension] - 1) for term in index.terms)


def _step(index: AffineIndex) -> int:
    return max(term.coefficient for term in index.terms)


def _stated(index: AffineIndex, sizes: Mapping[Dimension, int]) -> str:
    before, after = index.padding
    return f"{index.size:,} elements with padding {before} and {after} along {_loops(index, sizes)}"


def _loops(index: AffineIndex, sizes: Mapping[Dimension, int]) -> str:
    loops = " and ".join(f"{d} {sizes[d]}" for d in index.dimensions)
    return f"{index.name or 'the axis'} = {index} of {loops}"
