"""The outer loops along which a layer is split, as the hints request."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, prod

import numpy as np

from nestmap.model import InputError, Loop
from nestmap.model.multicore.cn_layer import CnLayer, LayerNest, TensorUse
from nestmap.model.multicore.split_options import (
    Convention,
    HintLoop,
    Hints,
    SplitMode,
    SplitOptions,
)
from nestmap.model.multicore.tiling import Tiling
from nestmap.search.multicore.split.node_nests import Sizes


def split_layer(nest: LayerNest, options: SplitOptions, capacity: int | None) -> CnLayer:
    """Adds outer loops to a layer.

    Args:
        nest: the layer.
        options: how to split.
        capacity: bits for its constants in the smallest memory of the allowed cores (for mode 4);
            ``None``: no allowed core holds constants.

    Raises:
        InputError: if the layer cannot be split such that its constants fit.
    """
    loops = _outer(nest, _hints(nest.number, options), options)
    if options.mode is SplitMode.OUTER_AND_WEIGHTS:
        loops += _weight_loops(nest, loops, options, capacity)
    counts = _tiles(loops) if options.convention is Convention.STREAM else {}
    whole = tuple(_padded(loop, counts.get(loop.dimension, 1)) for loop in nest.loops)
    cut = Tiling(whole, tuple(loops))
    return CnLayer(nest=nest, loops=whole, outer=tuple(_exact(x, loops, cut) for x in loops))


def _padded(loop: Loop, parts: int) -> Loop:
    """The loop, extended until the number of parts divides it."""
    return Loop(dimension=loop.dimension, size=ceil(loop.size / parts) * parts)


def _exact(loop: Loop, loops: Sequence[Loop], cut: Tiling) -> Loop:
    """The loop with one iteration per tile, if it alone splits its dimension."""
    alone = sum(other.dimension == loop.dimension for other in loops) == 1
    return Loop(dimension=loop.dimension, size=cut.tiles[loop.dimension]) if alone else loop


def _hints(number: int, options: SplitOptions) -> Hints:
    place = int(np.searchsorted(options.cutoffs, number, side="right"))
    return options.hints[place]


def _tiles(loops: Sequence[Loop]) -> Sizes:
    return {
        loop.dimension: prod(x.size for x in loops if x.dimension == loop.dimension)
        for loop in loops
    }


def _outer(nest: LayerNest, hints: Hints, options: SplitOptions) -> list[Loop]:
    known = [hint for hint in hints if hint.dimension in nest.sizes]
    if options.mode is SplitMode.INNER:
        return _around(nest, known, options.convention)
    loops = (
        Loop(dimension=hint.dimension, size=_limited(hint, nest.sizes[hint.dimension]))
        for hint in known
    )
    return [loop for loop in loops if loop.size > 1]


def _limited(hint: HintLoop, size: int) -> int:
    return size if hint.tiles is None else min(hint.tiles, size)


def _around(nest: LayerNest, inner: Sequence[HintLoop], convention: Convention) -> list[Loop]:
    """The loops around the given inner ones, in the order of the layer's loops."""
    within = dict.fromkeys(nest.sizes, 1)
    for hint in inner:
        size = nest.sizes[hint.dimension]
        wanted = within[hint.dimension] * _limited(hint, size)
        within[hint.dimension] = min(wanted, size)
    if convention is Convention.STREAM:
        within = {d: _divisor_near(n, nest.sizes[d]) for d, n in within.items()}
    counts = {d: ceil(size / within[d]) for d, size in nest.sizes.items()}
    return [Loop(dimension=d, size=n) for d, n in counts.items() if n > 1]


def _divisor_near(wanted: int, size: int) -> int:
    """The divisor of ``size`` nearest to the target; of two, the smaller one."""
    divisors = (n for n in range(1, size + 1) if size % n == 0)
    return min(divisors, key=lambda n: (abs(n - wanted), n))


def _weight_loops(
    nest: LayerNest, loops: Sequence[Loop], options: SplitOptions, capacity: int | None
) -> list[Loop]:
    """The outermost loop over K that makes the constants of a node fit."""
    bits = max((_bits(read) for read in nest.constants), default=0)
    if not bits or capacity is None or "K" not in nest.sizes:
        return []
    where, size = f"layer {nest.name}", nest.sizes["K"]
    room = options.weight_share * capacity
    if room * size < bits:
        raise InputError(
            where,
            f"constants of {bits} bit, split along K into {size} parts at most",
            f"parts of at most {room:.0f} bit, {options.weight_share:g} of the smallest memory for "
            "constants of the allowed cores",
        )
    count = ceil(size / min(size, int(room * size / bits)))
    if options.convention is Convention.STREAM:
        count = next(n for n in range(count, size + 1) if size % n == 0)
    cut = _tiles(loops).get("K", 1)
    return [Loop(dimension="K", size=count)] if count > cut else []


def _bits(read: TensorUse) -> int:
    elements = prod(axis.size for axis in read.axes)
    return elements * read.precision if read.stored is None else ceil(elements * read.stored)
