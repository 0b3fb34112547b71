"""Finds the axes along which a tensor repeats its values, after Expand and data movement.

Networks whose queries share keys (grouped-query attention) repeat the keys for each query with
Expand before the product. The product can read the unrepeated tensor instead.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from math import prod

from nestmap.pipeline.frontend.onnx.load.graph import GraphNode
from nestmap.pipeline.frontend.onnx.load.shapes import Sizes, TensorFacts, whole_sizes

Factor = tuple[int, bool]
"""A factor of an axis: its size, and whether all values along it are equal."""

Axes = tuple[tuple[Factor, ...], ...]
"""The axes of a tensor, each a product of factors, outermost first."""

RepeatRule = Callable[[GraphNode, Axes, Sizes, Mapping[str, TensorFacts]], Axes | None]
"""The axes of an output of known sizes, given those of the first input."""


def repeated_axes(
    nodes: Sequence[GraphNode],
    tensors: Mapping[str, TensorFacts],
    rule_of: Callable[[str], RepeatRule | None],
) -> Mapping[str, Axes]:
    """The axes of all tensors with repeated values, by tensor.

    Args:
        nodes: all nodes in topological order.
        tensors: shapes and types of their tensors.
        rule_of: what an operator does to repeated values; ``None``: that is not known.
    """
    known: dict[str, Axes] = {}
    for node in nodes:
        read, made = node.proto.input, node.proto.output
        rule = rule_of(node.operator)
        if not read or not made or rule is None:
            continue
        before, after = _sizes(tensors, read[0]), _sizes(tensors, made[0])
        if before is None or after is None or prod(after) == 0:
            continue
        axes = known.get(read[0], unrepeated_axes(before))
        moved = rule(node, axes, after, tensors)
        if moved is not None and any(repeated for axis in moved for _, repeated in axis):
            known[made[0]] = moved
    return known


def unrepeated_axes(sizes: Sizes) -> Axes:
    """Axes without repetition."""
    return tuple(((size, False),) if size > 1 else () for size in sizes)


def split_alike(left: Sequence[Factor], right: Sequence[Factor]) -> tuple[Sizes, Sizes] | None:
    """The sizes of two axes of equal length, after splitting both at the same points.

    A part with equal values has size 1; if it has equal values in both axes, only the right one
    has. ``None`` if the axes have no common split.
    """
    one, two = list(left), list(right)
    sizes: list[tuple[int, int]] = []
    while one and two:
        (a, same_a), (b, same_b) = one.pop(), two.pop()
        part = min(a, b)
        if a % part or b % part:
            return None
        sizes.append((1 if same_a and not same_b else part, 1 if same_b else part))
        if a > part:
            one.append((a // part, same_a))
        if b > part:
            two.append((b // part, same_b))
    if one or two:
        return None
    merged = tuple(_merged(reversed(sizes)))
    return tuple(a for a, _ in merged), tuple(b for _, b in merged)


def _merged(pairs: Iterator[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Merges neighbouring parts that repeat in the same way."""
    last: tuple[int, int] | None = None
    for a, b in pairs:
        if last is not None and (last[0] == 1, last[1] == 1) == (a == 1, b == 1):
            last = (last[0] * a, last[1] * b)
            continue
        if last is not None:
            yield last
        last = (a, b)
    if last is not None:
        yield last


def _sizes(tensors: Mapping[str, TensorFacts], name: str) -> Sizes | None:
    facts = tensors.get(name)
    return None if facts is None else whole_sizes(facts.shape)


def reshaped(_: GraphNode, axes: Axes, after: Sizes, __: Mapping[str, TensorFacts]) -> Axes | None:
    """The same factors, distributed over other axes; ``None`` if a factor cannot be split."""
    left = [factor for axis in reversed(axes) for factor in reversed(axis)]
    spread: list[tuple[Factor, ...]] = []
    for size in reversed(after):
        axis, missing = list[Factor](), size
        while missing > 1:
            if not left:
                return None
            own, repeated = left.pop(0)
            part = min(own, missing)
            if own % part or missing % part:
                return None
            if own > part:
                left.insert(0, (own // part, repeated))
            axis.insert(0, (part, repeated))
            missing //= part
        spread.insert(0, tuple(axis))
    return tuple(spread)


def transposed(node: GraphNode, axes: Axes, _: Sizes, __: Mapping[str, TensorFacts]) -> Axes | None:
    """The axes in another order."""
    order = next((list(x.ints) for x in node.proto.attribute if x.name == "perm"), None)
    places = range(len(axes))[::-1] if order is None else order
    return tuple(axes[i] for i in places) if sorted(places) == list(range(len(axes))) else None


def expanded(_: GraphNode, axes: Axes, after: Sizes, __: Mapping[str, TensorFacts]) -> Axes | None:
    """An axis of one element that becomes longer has equal values."""
    own = ((),) * (len(after) - len(axes)) + axes
    pairs = zip(own, after, strict=False)
    return tuple(axis if axis or size == 1 else ((size, True),) for axis, size in pairs)


def scaled(
    node: GraphNode, axes: Axes, after: Sizes, tensors: Mapping[str, TensorFacts]
) -> Axes | None:
    """A product with a single number preserves repetition."""
    others = [_sizes(tensors, name) for name in node.proto.input[1:]]
    single = all(sizes is not None and prod(sizes) == 1 for sizes in others)
    return axes if single and len(after) == len(axes) else None
