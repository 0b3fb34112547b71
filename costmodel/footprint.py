"""The contents of each memory level: elements, partial sums, bits.

Formulas: docs/cost-model.md#data
"""

import numpy as np

from nestmap.costmodel.flat_problem import FlatProblem
from nestmap.costmodel.kernel.jit import kernel
from nestmap.costmodel.kernel.record import FRACTIONAL, OUT
from nestmap.costmodel.kernel.work import Work
from nestmap.costmodel.reuse import IRRELEVANT, PARTIALLY_RELEVANT, RELEVANT
from nestmap.model.workload import affine

distinct_values = kernel(affine.distinct_values)


@kernel
def reset_tile(problem: FlatProblem, work: Work) -> None:
    """Resets ``extent`` to a single iteration."""
    for d in range(problem.dimensions):
        work.extent[d] = 1.0


@kernel
def add_unrollings(problem: FlatProblem, work: Work, view: int, x: int, level: int) -> None:
    """Adds the unrollings between a level and the one below to the extents of a tile."""
    for i in range(problem.first_unrolled[x, level - 1], problem.first_unrolled[x, level]):
        work.extent[problem.unrolled_dimension[x, i]] *= problem.unrolled_factor[view, x, i]


@kernel
def tile_elements(problem: FlatProblem, work: Work, x: int) -> float:
    """Elements of the operand in the tile, from the extents of its dimensions.

    Equals the elements of a level before rounding except for the last digit: two tiles with equal
    extents in their pr dimensions compare as exactly equal.
    """
    count = 1.0
    for i in range(problem.first_r[x], problem.first_r[x + 1]):
        d = problem.r_dimension[i]
        count *= min(work.extent[d], problem.most_extent[d])
    for index in range(problem.first_pr[x], problem.first_pr[x + 1]):
        count *= axis_elements(problem, work, index)
    return float(count)


@kernel
def axis_elements(problem: FlatProblem, work: Work, index: int) -> float:
    """Elements along a pr index that the tile of ``extent`` touches.

    Formula: docs/cost-model.md#values-of-an-affine-index
    """
    a, b = problem.pr_dimensions[index, 0], problem.pr_dimensions[index, 1]
    return axis_values(
        problem,
        index,
        float(min(work.extent[a], problem.most_extent[a])),
        float(min(work.extent[b], problem.most_extent[b])),
    )


@kernel
def axis_values(problem: FlatProblem, index: int, a: float, b: float) -> float:
    """Elements along a pr index for so many iterations of its two dimensions.

    Formula: docs/cost-model.md#values-of-an-affine-index
    """
    values = distinct_values(
        float(np.floor(a)),
        float(np.floor(b)),
        problem.pr_steps[index, 0],
        problem.pr_steps[index, 1],
        problem.least_overlap,
    )
    return float(min(values, problem.pr_length[index]))


@kernel
def _growth(problem: FlatProblem, work: Work, x: int, dimension: int, factor: float) -> float:
    """The r part of a loop around a tile, which multiplies the operand's elements.

    The r part of a pr loop is the growth of its index, whose extents it multiplies. Loops and
    levels are added one at a time: with fractional unrollings, the order of products determines the
    last digit, and therefore how a count near one half is rounded.
    """
    kind = problem.relevance[x, dimension]
    if kind == RELEVANT:
        return factor
    if kind != PARTIALLY_RELEVANT:
        return 1.0
    index = problem.pr_index[x, dimension]
    before = axis_elements(problem, work, index)
    work.extent[dimension] *= factor
    return float(axis_elements(problem, work, index) / before)


@kernel
def count_elements(problem: FlatProblem, work: Work) -> None:
    """Elements that one instance of every level holds.

    Formula: docs/cost-model.md#elements-of-a-tile

    Reads: dimension, factor, stationary_cut.
    Fills: elements, extent, level_extent.
    """
    for x in range(problem.operands):
        count_operand_elements(problem, work, x)


@kernel
def count_operand_elements(problem: FlatProblem, work: Work, x: int) -> None:
    """The same for the levels of one operand."""
    for view in range(problem.views):
        reset_tile(problem, work)
        if problem.counts_clipped == 1:
            _count_full_tiles(problem, work, x)
            continue
        done, product = 0, 1.0
        for level in range(problem.levels[x] + 1):
            tile = 1.0
            for n in range(done, work.stationary_cut[x, level]):
                tile *= _growth(problem, work, x, work.dimension[n], work.factor[n])
            done = work.stationary_cut[x, level]
            if level > 0:
                for i in range(
                    problem.first_unrolled[x, level - 1], problem.first_unrolled[x, level]
                ):
                    factor = problem.unrolled_factor[view, x, i]
                    dimension = problem.unrolled_dimension[x, i]
                    tile *= _growth(problem, work, x, dimension, factor)
            product *= tile
            _keep_tile(problem, work, view, x, level, product)


@kernel
def _count_full_tiles(problem: FlatProblem, work: Work, x: int) -> None:
    """The same where all extents are whole, so that no order of products matters."""
    done = 0
    for level in range(problem.levels[x] + 1):
        for n in range(done, work.stationary_cut[x, level]):
            work.extent[work.dimension[n]] *= work.factor[n]
        done = work.stationary_cut[x, level]
        if level > 0:
            add_unrollings(problem, work, FRACTIONAL, x, level)
        _keep_tile(problem, work, FRACTIONAL, x, level, tile_elements(problem, work, x))


@kernel
def _keep_tile(
    problem: FlatProblem, work: Work, view: int, x: int, level: int, product: float
) -> None:
    """Writes the elements and extents of a level's tile."""
    for q in range(problem.first_pr[x], problem.first_pr[x + 1]):
        for i in range(2):
            work.level_extent[view, level, q, i] = work.extent[problem.pr_dimensions[q, i]]
    work.elements[view, x, level] = np.rint(product)


@kernel
def find_partial_sums(problem: FlatProblem, work: Work) -> None:
    """Whether outputs cross the link above a level as partial sums: an ir loop remains above.

    Formula: docs/cost-model.md#partial-sums

    Reads: loops, dimension, stationary_cut.
    Fills: psum_above.
    """
    highest = work.loops
    while highest > 0 and problem.relevance[OUT, work.dimension[highest - 1]] != IRRELEVANT:
        highest -= 1
    for view in range(problem.views):
        for level in range(problem.levels[OUT] + 1):
            looped = work.stationary_cut[OUT, level] < highest
            unrolled = problem.reduced_from[view, level + 1] == 1
            work.psum_above[view, level] = 1 if looped or unrolled else 0


@kernel
def count_bits(problem: FlatProblem, work: Work) -> None:
    """Bits that one instance holds: elements times the bits that each takes at that level.

    Formula: docs/cost-model.md#bits

    Reads: elements, psum_above.
    Fills: held.
    """
    for x in range(problem.operands):
        for level in range(1, problem.levels[x] + 1):
            for view in range(problem.views):
                unfinished = x == OUT and work.psum_above[view, level] == 1
                each = problem.partial_bits if unfinished else problem.element_bits
                work.held[view, x, level] = work.elements[view, x, level] * each[x, level]
