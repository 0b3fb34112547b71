"""Temporal orderings from the user, and the loop factors that remain for the search."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod
from typing import final

from nestmap.model import (
    InputError,
    LayerConstraints,
    Loop,
    OrderedLoop,
    PinnedLevels,
    PinnedMemory,
    SpatialProblem,
)
from nestmap.model.base import copy_with
from nestmap.search.temporal.loop_factors import (
    idle_loop,
    loop_factors,
    prime_factors,
    split_loops,
    temporal_sizes,
)


@final
@dataclass(frozen=True, slots=True)
class PinnedOrder:
    """One way to meet a temporal ordering.

    ``inner`` (innermost first) is below all other loops and ``outer`` (innermost first) above; the
    ``free`` loops are between them in any order.
    """

    inner: tuple[Loop, ...]
    free: tuple[Loop, ...]
    outer: tuple[Loop, ...] = ()

    @property
    def loops(self) -> tuple[Loop, ...]:
        """All loops, innermost first, the free ones in one of their orders."""
        return (*self.inner, *self.free, *self.outer)


def pinned_orders(spatial: SpatialProblem, limit: int | None) -> Iterator[PinnedOrder]:
    """All assignments of loops that meet the user's temporal ordering; no two share an order.

    An item with a size pins one loop of that size; ``*`` pins any one loop factor of the dimension.
    Items of dimensions without temporal loops are always met. The rest of a dimension is divided
    into factors as without constraints, so that there are at most ``limit`` loops in total unless
    the user specifies more.

    Raises:
        InputError: if an ordering is unsatisfiable, with the item at fault.
    """
    constraints = explicit_ordering(spatial)
    inner, outer = _items(constraints)
    if not inner and not outer:
        yield PinnedOrder((), loop_factors(spatial, limit))
        return
    sized = sum(1 for item in (*inner, *outer) if item.loop.size is not None)
    rest = None if limit is None else limit - sized
    loops = Counter(split_loops(_remaining_loops(spatial, (*inner, *outer)), rest))
    for chosen, free in _choose(spatial, (*inner, *outer), (), loops):
        yield PinnedOrder(chosen[: len(inner)], free, chosen[len(inner) :])


def explicit_ordering(spatial: SpatialProblem) -> LayerConstraints:
    """The constraints of a problem with those items of the ordering that need a loop.

    An item is always met, and left out, if its dimension has size 1 in the layer, or if all its
    iterations are unrolled and the item has no size above 1. Memory levels count the remaining
    items.

    Raises:
        InputError: if an item is unsatisfiable.
    """
    given = spatial.problem.constraints
    inner, outer = _items(given)
    needed = [_needs_loop(spatial, item) for item in (*inner, *outer)]
    kept = tuple(
        item for item, is_needed in zip((*inner, *outer), needed, strict=True) if is_needed
    )
    _check_loops(spatial, kept)
    if all(needed):
        return given
    below = sum(needed[: len(inner)])
    updates: dict[str, object] = {
        "temporal_ordering": tuple(item.loop for item in kept[:below]),
        "outer_ordering": tuple(item.loop for item in kept[below:]),
        "memory_levels": tuple(_merge_counts(levels, needed) for levels in given.memory_levels),
    }
    return copy_with(given, updates)


def complete_order(spatial: SpatialProblem) -> tuple[Loop, ...] | None:
    """The order that the user's temporal ordering fully determines; none if it leaves a choice.

    Raises:
        InputError: if the ordering is unsatisfiable.
    """
    inner, outer = _items(explicit_ordering(spatial))
    items = (*inner, *outer)
    loops = tuple(_loop(i.loop.dimension, i.loop.size) for i in items if i.loop.size is not None)
    is_whole = all(size == 1 for size in _remaining_loops(spatial, items).values())
    if len(loops) < len(items) or not is_whole:
        return None
    return loops or (idle_loop(spatial),)


@final
@dataclass(frozen=True, slots=True)
class _Item:
    """An item of the ordering, with its position in the user's list."""

    place: int
    loop: OrderedLoop

    def __str__(self) -> str:
        return f"item {self.place}, {self.loop}"


def _items(constraints: LayerConstraints) -> tuple[tuple[_Item, ...], tuple[_Item, ...]]:
    """The inner and the outer items; the wildcard between them has its own position."""
    inner, outer = constraints.temporal_ordering, constraints.outer_ordering
    above = len(inner) + 2
    return (
        tuple(_Item(place, loop) for place, loop in enumerate(inner, start=1)),
        tuple(_Item(place, loop) for place, loop in enumerate(outer, start=above)),
    )


def _needs_loop(spatial: SpatialProblem, item: _Item) -> bool:
    sizes, dimension = spatial.layer.sizes, item.loop.dimension
    if dimension not in sizes:
        expected = f"a loop dimension of the layer: {', '.join(sizes)}"
        raise _fault(spatial, str(item), expected)
    asks_for_size = sizes[dimension] > 1 and (item.loop.size or 1) > 1
    return dimension in temporal_sizes(spatial) or asks_for_size


def _check_loops(spatial: SpatialProblem, items: Sequence[_Item]) -> None:
    """Checks that sizes divide the temporal iterations, and that the other items have loops."""
    if not items:
        return
    left = spatial.temporal_sizes
    for item in items:
        size, iterations = item.loop.size or 1, left[item.loop.dimension]
        if iterations % size:
            raise _fault(spatial, str(item), _divisor(spatial, item.loop.dimension, iterations))
        left[item.loop.dimension] //= size
    for dimension, iterations in left.items():
        wild = [i for i in items if i.loop.dimension == dimension and i.loop.size is None]
        factors = prime_factors(iterations)
        if len(wild) > len(factors):
            raise _too_many(spatial, wild[len(factors)], len(factors))


def _divisor(spatial: SpatialProblem, dimension: str, left: int) -> str:
    whole, unrolled = spatial.layer.sizes[dimension], spatial.spatial_mapping.factor_of(dimension)
    in_time = spatial.temporal_sizes[dimension]
    text = f"a divisor of {left}: {dimension} has size {whole}"
    if unrolled > 1:
        text += f", is unrolled {unrolled} times and iterates {in_time} times"
    if left != in_time:
        text += f", and the items before it take {in_time // left}"
    return f"{text}; --pad makes loops larger"


def _too_many(spatial: SpatialProblem, item: _Item, loops: int, note: str = "") -> InputError:
    dimension = item.loop.dimension
    expected = f"at most {loops} such items: {loops} factors are left of {dimension}{note}"
    return _fault(spatial, str(item), expected)


def _fault(spatial: SpatialProblem, found: str, expected: str) -> InputError:
    constraints = spatial.problem.constraints
    where = constraints.place_for("temporal_ordering", spatial.layer.name)
    return InputError(where, found, expected)


def _merge_counts(levels: PinnedLevels, needed: Sequence[bool]) -> PinnedLevels:
    """The levels, counting only the required items."""
    memories = tuple(
        PinnedMemory(memory=entry.memory, loops=sum(needed[: entry.loops]))
        for entry in levels.memories
    )
    return PinnedLevels(operand=levels.operand, memories=memories)


def _remaining_loops(spatial: SpatialProblem, items: Sequence[_Item]) -> dict[str, int]:
    """The temporal iterations of each dimension that items with sizes do not cover."""
    left = temporal_sizes(spatial)
    for dimension in left:
        pinned = (i.loop.size or 1 for i in items if i.loop.dimension == dimension)
        left[dimension] //= prod(pinned)
    return left


def _loop(dimension: str, size: int) -> Loop:
    return Loop(dimension=dimension, size=size)


def _choose(
    spatial: SpatialProblem,
    items: tuple[_Item, ...],
    chosen: tuple[Loop, ...],
    loops: Counter[Loop],
) -> Iterator[tuple[tuple[Loop, ...], tuple[Loop, ...]]]:
    """All choices of a loop for each item, with the remaining loops."""
    if len(chosen) == len(items):
        yield chosen, tuple(loops.elements())
        return
    item = items[len(chosen)]
    if item.loop.size is not None:
        pinned = (*chosen, _loop(item.loop.dimension, item.loop.size))
        yield from _choose(spatial, items, pinned, loops)
        return
    candidates = [x for x in loops if x.dimension == item.loop.dimension and loops[x]]
    if not candidates:
        taken = [i for i in items[: len(chosen)] if i.loop == item.loop]
        raise _too_many(spatial, item, len(taken), ", more with a larger lpf_limit")
    for loop in candidates:
        yield from _choose(spatial, items, (*chosen, loop), loops - Counter([loop]))
