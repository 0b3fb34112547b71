"""Temporal orderings that a user asks for, and the loop factors that they leave to the search."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from math import prod

from nestmap.model import InputError, Loop, OrderedLoop, SpatialProblem
from nestmap.search.factors import loop_factors, split_loops, temporal_sizes

Pinned = tuple[tuple[Loop, ...], tuple[Loop, ...]]
"""The loops that are pinned, innermost first, and those that may stand in any order above."""


def pinned_orders(spatial: SpatialProblem, limit: int | None) -> Iterator[Pinned]:
    """Every way in which the user's temporal ordering can be met.

    An item with a size pins one loop of that size; ``*`` pins one loop factor of the dimension,
    whichever. Items of dimensions that have no loop left in time are met by themselves. What the
    sizes leave of a dimension is cut into factors as without constraints.

    Raises:
        InputError: where an ordering cannot hold, with the item that is at fault.
    """
    ordering = [o for o in spatial.problem.constraints.temporal_ordering if _has_loop(spatial, o)]
    if not ordering:
        yield (), loop_factors(spatial, limit)
        return
    sized = sum(1 for item in ordering if item.size is not None)
    rest = None if limit is None else limit - sized
    loops = Counter(split_loops(_left_over(spatial, ordering), rest))
    yield from _choose(spatial, tuple(ordering), (), loops)


def _has_loop(spatial: SpatialProblem, item: OrderedLoop) -> bool:
    if item.dimension not in spatial.layer.sizes:
        raise InputError(
            f"temporal_ordering for layer {spatial.layer.name}",
            f"{item}",
            f"a loop dimension of the layer: {', '.join(spatial.layer.sizes)}",
        )
    return item.dimension in temporal_sizes(spatial)


def _left_over(spatial: SpatialProblem, ordering: list[OrderedLoop]) -> dict[str, int]:
    """What the items with sizes leave of each dimension's iterations in time."""
    sizes = temporal_sizes(spatial)
    for dimension, size in sizes.items():
        pinned = [o.size for o in ordering if o.dimension == dimension and o.size is not None]
        if size % prod(pinned):
            raise InputError(
                f"temporal_ordering for layer {spatial.layer.name}",
                f"{dimension} {' x '.join(map(str, pinned))}",
                f"factors of the {size} iterations that {dimension} has left in time",
            )
        sizes[dimension] = size // prod(pinned)
    return sizes


def _choose(
    spatial: SpatialProblem,
    ordering: tuple[OrderedLoop, ...],
    chosen: tuple[Loop, ...],
    loops: Counter[Loop],
) -> Iterator[Pinned]:
    """All choices of a loop for each item, where loops are what is not pinned yet."""
    if len(chosen) == len(ordering):
        yield chosen, tuple(loops.elements())
        return
    item = ordering[len(chosen)]
    if item.size is not None:
        pinned = (*chosen, Loop(dimension=item.dimension, size=item.size))
        yield from _choose(spatial, ordering, pinned, loops)
        return
    candidates = [loop for loop in loops if loop.dimension == item.dimension and loops[loop]]
    if not candidates:
        raise InputError(
            f"temporal_ordering for layer {spatial.layer.name}",
            f"{item} after all loops of {item.dimension} are pinned",
            "as many items of a dimension as it has loops",
        )
    for loop in candidates:
        yield from _choose(spatial, ordering, (*chosen, loop), loops - Counter([loop]))
