"""What each memory level holds: elements, partial sums, bits."""

from __future__ import annotations

import numpy as np

from nestmap.costmodel.jit import kernel
from nestmap.costmodel.problem import OUT, FlatProblem
from nestmap.costmodel.reuse import IRRELEVANT
from nestmap.costmodel.work import Work
from nestmap.model import affine

distinct_values = kernel(affine.distinct_values)


@kernel
def reach(problem: FlatProblem, work: Work, view: int, x: int, level: int, cut: int) -> None:
    """``extent``: iterations of each dimension in the loops below ``cut`` and the unrollings.

    Those between the array and the level count. They come first and loops follow from the inside:
    where unrollings are fractions, this order of products decides the last digit, and with it ties.
    """
    for d in range(problem.dimensions):
        work.extent[d] = problem.unrolled[view, x, level, d]
    for n in range(cut):
        work.extent[work.dimension[n]] *= work.factor[n]


@kernel
def reached_elements(problem: FlatProblem, work: Work, x: int) -> float:
    """Elements of an operand that loops of the sizes in ``extent`` touch (spec section 1)."""
    count = 1.0
    for i in range(problem.first_r[x], problem.first_r[x + 1]):
        count *= work.extent[problem.r_dimension[i]]
    for q in range(problem.first_pr[x], problem.first_pr[x + 1]):
        values = distinct_values(
            float(np.floor(work.extent[problem.pr_dimensions[q, 0]])),
            float(np.floor(work.extent[problem.pr_dimensions[q, 1]])),
            problem.pr_steps[q, 0],
            problem.pr_steps[q, 1],
        )
        count *= min(values, problem.pr_length[q])
    return float(count)


@kernel
def count_elements(problem: FlatProblem, work: Work) -> None:
    """``elements`` that one instance of every level holds (spec section 4, per-unit view)."""
    for view in range(problem.views):
        for x in range(problem.operands):
            for level in range(problem.levels[x] + 1):
                reach(problem, work, view, x, level, work.cut[x, level])
                work.elements[view, x, level] = np.rint(reached_elements(problem, work, x))


@kernel
def find_partial_sums(problem: FlatProblem, work: Work) -> None:
    """``psum_above``: the output is unfinished while an ir loop above still runs (section 4)."""
    highest = work.loops
    while highest > 0 and problem.relevance[OUT, work.dimension[highest - 1]] != IRRELEVANT:
        highest -= 1
    for view in range(problem.views):
        for level in range(problem.levels[OUT] + 1):
            looped = work.cut[OUT, level] < highest
            unrolled = problem.reduced_from[view, level + 1] == 1
            work.psum_above[view, level] = 1 if looped or unrolled else 0


@kernel
def hold_bits(problem: FlatProblem, work: Work) -> None:
    """``held``: elements times the precision they have at that level."""
    for view in range(problem.views):
        for x in range(problem.operands):
            for level in range(1, problem.levels[x] + 1):
                unfinished = x == OUT and work.psum_above[view, level] == 1
                precision = problem.partial_precision[x] if unfinished else problem.precision[x]
                work.held[view, x, level] = work.elements[view, x, level] * precision
