"""Spatial mappings per operand: the unrollings between memory levels.

A spatial mapping is an array of unrollings ``[i, 3]``: array dimension, loop dimension and factor,
in the array's order. That order is the order of all products, on which the last digits depend.
"""

import numpy as np

from nestmap.costmodel.flat_problem import FlatProblem
from nestmap.costmodel.footprint import axis_values
from nestmap.costmodel.kernel.jit import kernel
from nestmap.costmodel.kernel.record import FRACTIONAL, INTEGER, OUT, UNROLLINGS, VIEWS
from nestmap.costmodel.reuse import IRRELEVANT
from nestmap.model import InputError, SpatialProblem
from nestmap.model.arrays import Floats, Ints

SIDE, DIMENSION, FACTOR = range(3)
"""The columns of an array of unrollings."""


def unrollings_of(spatial: SpatialProblem) -> Ints:
    """[i, 3] the unrollings of a problem in the order of the array.

    Raises:
        InputError: if there are more than a record holds.
    """
    dimensions = list(spatial.layer.sizes)
    rows = [
        (s, dimensions.index(loop.dimension), loop.size)
        for s, side in enumerate(spatial.accelerator.array.sides)
        for loop in spatial.spatial_mapping.on(side.name)
    ]
    if len(rows) > UNROLLINGS:
        raise InputError("unrollings", f"{len(rows)} of them", f"at most {UNROLLINGS}")
    return np.array(rows, np.int64).reshape(-1, 3)


@kernel
def temporal_sizes(problem: FlatProblem, unrollings: Ints, sizes: Floats) -> float:
    """Fills [d] the iterations left for the temporal mapping; returns their product.

    Formula: docs/cost-model.md#iterations-left-in-time
    """
    total = 1
    for d in range(problem.dimensions):
        unrolled = 1
        for i in range(len(unrollings)):
            if unrollings[i, DIMENSION] == d:
                unrolled *= unrollings[i, FACTOR]
        iterations = -(-int(problem.loop_size[d]) // unrolled)
        sizes[d] = float(iterations)
        total *= iterations
    return float(total)


@kernel
def put_unrollings(problem: FlatProblem, unrollings: Ints) -> None:
    """Writes a spatial mapping into the record: everything but the energy of the array.

    Fills: views, unrolled_dimension, unrolled_factor, first_unrolled, unrolled_below, reduced_from,
    units, boost, step_words, drain, counts_clipped.
    """
    merged = np.empty((len(unrollings), 2), np.int64)
    factors = np.empty((VIEWS, len(unrollings)))
    count = _merge(unrollings, merged, factors)
    _put_views(problem, merged[:count], factors)
    _reset(problem, count)
    for x in range(problem.operands):
        _put_levels(problem, x, merged[:count], factors)
        for view in range(VIEWS):
            _put_units(problem, view, x)
            _put_boost(problem, view, x)
    for view in range(VIEWS):
        _put_reductions(problem, view)
    _put_drain(problem, unrollings)
    _put_clipping(problem, unrollings)


@kernel
def _merge(unrollings: Ints, merged: Ints, factors: Floats) -> int:
    """Multiplies the unrollings of a loop dimension over the same array dimension.

    Fills [i, 2] array and loop dimension, and their factors; returns their number.
    """
    count = 0
    for i in range(len(unrollings)):
        same = 0
        while same < count and (
            merged[same, SIDE] != unrollings[i, SIDE]
            or merged[same, DIMENSION] != unrollings[i, DIMENSION]
        ):
            same += 1
        if same == count:
            merged[count, SIDE] = unrollings[i, SIDE]
            merged[count, DIMENSION] = unrollings[i, DIMENSION]
            factors[FRACTIONAL, count] = 1.0
            count += 1
        factors[FRACTIONAL, same] *= unrollings[i, FACTOR]
    return count


@kernel
def _put_views(problem: FlatProblem, merged: Ints, factors: Floats) -> None:
    """Makes the factors fractional for energy and truncates them for latency, unless tiles clip.

    Among the array dimensions that unroll a loop of size ``N``, the first with the largest factor
    ``u`` gets ``N / ceil(N / (u * e)) / e``, where ``e`` is the product of the earlier ones; the
    others do not change.

    Formula: docs/cost-model.md#whole-and-fractional-unrollings
    """
    mean = factors[FRACTIONAL]
    for d in range(problem.dimensions):
        largest = -1
        for i in range(len(merged)):
            if merged[i, DIMENSION] == d and (largest < 0 or mean[i] > mean[largest]):
                largest = i
        if largest < 0 or problem.counts_exactly == 1:
            continue
        earlier = 1.0
        for i in range(largest):
            if merged[i, DIMENSION] == d:
                earlier *= mean[i]
        rounds = np.ceil(problem.loop_size[d] / (mean[largest] * earlier))
        mean[largest] = problem.loop_size[d] / rounds / earlier
    problem.views = 1
    for i in range(len(merged)):
        factors[INTEGER, i] = np.floor(mean[i])
        if factors[INTEGER, i] != mean[i]:
            problem.views = 2


@kernel
def _reset(problem: FlatProblem, count: int) -> None:
    """Removes the spatial mapping that the record holds."""
    depth = 0
    for x in range(problem.operands):
        depth = max(depth, problem.levels[x])
    problem.reduced_from[:] = 0
    problem.unrolled_dimension[:] = 0
    problem.unrolled_factor[:] = 0.0
    problem.unrolled_factor[:, : problem.operands, :count] = 1.0
    problem.units[:, : problem.operands, : depth + 1] = 1.0
    problem.boost[:, : problem.operands, : depth + 1] = 1.0


@kernel
def _put_levels(problem: FlatProblem, x: int, merged: Ints, factors: Floats) -> None:
    """Distributes the unrollings over the levels; the last ones are above the top memory."""
    count = 0
    for level in range(problem.levels[x] + 1):
        first = count
        problem.first_unrolled[x, level] = first
        for i in range(len(merged)):
            if problem.side_level[x, merged[i, SIDE]] != level:
                continue
            place = first
            while place < count and (problem.unrolled_dimension[x, place] != merged[i, DIMENSION]):
                place += 1
            count = max(count, place + 1)
            problem.unrolled_dimension[x, place] = merged[i, DIMENSION]
            for view in range(VIEWS):
                problem.unrolled_factor[view, x, place] *= factors[view, i]
    for level in range(problem.levels[x] + 1, problem.first_unrolled.shape[1]):
        problem.first_unrolled[x, level] = count
    for d in range(problem.dimensions):
        problem.unrolled_below[x, 0, d] = 1.0
    for level in range(problem.levels[x] + 1):
        problem.unrolled_below[x, level + 1] = problem.unrolled_below[x, level]
        for i in range(problem.first_unrolled[x, level], problem.first_unrolled[x, level + 1]):
            factor = problem.unrolled_factor[FRACTIONAL, x, i]
            problem.unrolled_below[x, level + 1, problem.unrolled_dimension[x, i]] *= factor


@kernel
def _put_units(problem: FlatProblem, view: int, x: int) -> None:
    """The instances of each level in use: all unrollings above it.

    Formula: docs/cost-model.md#instances-and-boost
    """
    units = 1.0
    for level in range(problem.levels[x], -1, -1):
        here = 1.0
        for i in range(problem.first_unrolled[x, level], problem.first_unrolled[x, level + 1]):
            here *= problem.unrolled_factor[view, x, i]
        units *= here
        # in two steps, as in the reference: 4.500000000000001 counts as 4.5, rounded to even
        problem.units[view, x, level] = np.rint(np.rint(units * 1000.0) / 1000.0)


@kernel
def _put_boost(problem: FlatProblem, view: int, x: int) -> None:
    """The different words that all units of a level get from one word of the level above.

    Formula: docs/cost-model.md#instances-and-boost
    """
    boost = problem.boost[view, x]
    for i in range(problem.first_index[x], problem.first_index[x + 1]):
        if problem.index[i] >= 0:
            for level in range(problem.levels[x] + 1):
                boost[level] *= _factor_at(problem, view, x, level, problem.index[i])
        else:
            _grow(problem, view, x, -1 - problem.index[i], boost)
    unique_above, unique = 1.0, 1.0
    for level in range(problem.levels[x], -1, -1):
        unique *= boost[level]
        boost[level] = np.rint(unique / unique_above)
        unique_above = unique
    if view == FRACTIONAL:
        problem.step_words[x] = unique


@kernel
def _grow(problem: FlatProblem, view: int, x: int, q: int, growth: Floats) -> None:
    """[level] multiplies the growth along a pr index through the unrollings of a level."""
    a, b, before = 1.0, 1.0, 1.0
    for level in range(problem.levels[x] + 1):
        a *= _factor_at(problem, view, x, level, problem.pr_dimensions[q, 0])
        b *= _factor_at(problem, view, x, level, problem.pr_dimensions[q, 1])
        length = axis_values(problem, q, a, b)
        growth[level] *= length / before
        before = length


@kernel
def _factor_at(problem: FlatProblem, view: int, x: int, level: int, dimension: int) -> float:
    """The unrolling of a dimension directly above a level."""
    for i in range(problem.first_unrolled[x, level], problem.first_unrolled[x, level + 1]):
        if problem.unrolled_dimension[x, i] == dimension:
            return float(problem.unrolled_factor[view, x, i])
    return 1.0


@kernel
def _put_reductions(problem: FlatProblem, view: int) -> None:
    """Marks the levels at or below an ir unrolling of the output."""
    reduces = 0
    for level in range(problem.levels[OUT], -1, -1):
        for i in range(problem.first_unrolled[OUT, level], problem.first_unrolled[OUT, level + 1]):
            is_ir = problem.relevance[OUT, problem.unrolled_dimension[OUT, i]] == IRRELEVANT
            if is_ir and problem.unrolled_factor[view, OUT, i] > 1.0:
                reduces = 1
        problem.reduced_from[view, level] = reduces


@kernel
def _put_drain(problem: FlatProblem, unrollings: Ints) -> None:
    """Cycles until the last outputs have left the systolic dimensions.

    Formula: docs/cost-model.md#off-loading-and-drain
    """
    drain = 0.0
    for s in range(problem.sides):
        unrolled = 1.0
        for i in range(len(unrollings)):
            if unrollings[i, SIDE] == s:
                unrolled *= unrollings[i, FACTOR]
        drain += problem.systolic[s] * (unrolled - 1.0)
    problem.drain = drain


@kernel
def _put_clipping(problem: FlatProblem, unrollings: Ints) -> None:
    """Notes whether tiles are clipped: an unrolling that does not divide its loop leaves a rest.

    Loops in time divide what is left, so that nothing else does.
    """
    problem.counts_clipped = 0
    for d in range(problem.dimensions):
        unrolled = 1
        for i in range(len(unrollings)):
            if unrollings[i, DIMENSION] == d:
                unrolled *= unrollings[i, FACTOR]
        if problem.counts_exactly == 1 and problem.loop_size[d] % unrolled != 0.0:
            problem.counts_clipped = 1
