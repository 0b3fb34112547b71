"""Stationarity of data, cycles, and the reuse at the top of each level.

Formulas: docs/cost-model.md#temporal-mapping
"""

from __future__ import annotations

from nestmap.costmodel.flat_problem import FlatProblem
from nestmap.costmodel.kernel.axes import OUT
from nestmap.costmodel.kernel.jit import kernel
from nestmap.costmodel.kernel.work import Work
from nestmap.model import Relevance
from nestmap.model.arrays import Floats, Ints

IRRELEVANT = int(Relevance.IRRELEVANT)
RELEVANT = int(Relevance.RELEVANT)
PARTIALLY_RELEVANT = int(Relevance.PARTIALLY_RELEVANT)


@kernel
def replace_loops(work: Work, dimensions: Ints, factors: Floats) -> int:
    """Writes the loops into the arrays; returns how many, from the innermost on, were there."""
    same = 0
    while (
        same < work.loops
        and work.dimension[same] == dimensions[same]
        and work.factor[same] == factors[same]
    ):
        same += 1
    for n in range(same, work.loops):
        dimensions[n], factors[n] = work.dimension[n], work.factor[n]
    return same


@kernel
def compare_loops(problem: FlatProblem, work: Work) -> None:
    """Counts the innermost loops that are those of the mapping before, and remembers these.

    Later kernels find which data differ.

    Reads: loops, dimension, factor.
    Fills: same_loops, same_data, same_window, is_filled, loops_before, dimension_before, \
factor_before.
    """
    is_comparable = work.is_filled == 1 and work.loops == work.loops_before
    work.same_loops = replace_loops(work, work.dimension_before, work.factor_before)
    for x in range(problem.operands):
        for level in range(problem.levels[x] + 1):
            work.same_data[x, level] = work.same_window[x, level] = 1 if is_comparable else 0
    work.loops_before, work.is_filled = work.loops, 1


@kernel
def place_loops(problem: FlatProblem, work: Work) -> None:
    """Moves cuts up past ir loops: a level keeps its data while they run.

    For inputs the innermost ir loops end below level 1: the array reuses a word if it can hold
    one.

    Formula: docs/cost-model.md#data-that-stays-in-place

    Reads: loops, dimension, cut, same_loops, same_data.
    Fills: stationary_cut, same_levels, same_growth.
    """
    loops = work.loops
    for x in range(problem.operands):
        same, work.same_growth[x] = 0, 0
        for level in range(problem.levels[x] + 1):
            cut = work.cut[x, level] if level > 0 else 0
            if level > 0 or (x != OUT and problem.holds_inputs == 1):
                while cut < loops and problem.relevance[x, work.dimension[cut]] == IRRELEVANT:
                    cut += 1
            before = work.stationary_cut[x, level]
            if same == level and work.same_data[x, level] == 1:
                work.same_growth[x] = min(cut, before, work.same_loops)
                same += cut == before and cut <= work.same_loops
            work.stationary_cut[x, level] = cut
        work.same_levels[x] = same


@kernel
def count_cycles(problem: FlatProblem, work: Work) -> None:
    """Iterations of all loops at or below each level.

    Formula: docs/cost-model.md#cycles-of-a-level

    Reads: factor, stationary_cut, same_levels.
    Fills: cycles, same_data.
    """
    for x in range(problem.operands):
        done, product, first, top = 0, 1.0, work.same_levels[x], problem.levels[x]
        if first > 0:
            done, product = work.stationary_cut[x, first - 1], work.cycles[x, first - 1]
        before = work.cycles[x, top]
        for level in range(first, top + 1):
            while done < work.stationary_cut[x, level]:
                product *= work.factor[done]
                done += 1
            if product != work.cycles[x, level]:
                work.same_data[x, level] = 0
            work.cycles[x, level] = product
        if product != before:  # the periods of all levels differ
            for level in range(top + 1):
                work.same_data[x, level] = 0


@kernel
def measure_tops(problem: FlatProblem, work: Work) -> None:
    """Products of the contiguous r, and ir, loops at the top of each level.

    Level 1 also counts the loops during which the array reuses a word.

    Formula: docs/cost-model.md#reuse-at-the-top-of-a-level

    Reads: dimension, factor, stationary_cut, same_levels.
    Fills: top_relevant, top_irrelevant, same_window.
    """
    for x in range(problem.operands):
        work.top_relevant[x, 0] = work.top_irrelevant[x, 0] = 1.0
        for level in range(max(1, work.same_levels[x]), problem.levels[x] + 1):
            low = work.stationary_cut[x, level - 1] if level > 1 else 0
            high = work.stationary_cut[x, level]
            work.top_relevant[x, level] = _top_product(problem, work, x, low, high, RELEVANT)
            irrelevant = _top_product(problem, work, x, low, high, IRRELEVANT)
            if irrelevant != work.top_irrelevant[x, level]:
                work.same_window[x, level] = 0
            work.top_irrelevant[x, level] = irrelevant


@kernel
def _top_product(problem: FlatProblem, work: Work, x: int, low: int, high: int, kind: int) -> float:
    product, at = 1.0, high - 1
    while at >= low and problem.relevance[x, work.dimension[at]] == kind:
        product *= work.factor[at]
        at -= 1
    return product
