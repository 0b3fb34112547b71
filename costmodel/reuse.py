"""Stationarity of data, cycles, and the reuse at the top of each level.

Formulas: docs/cost-model.md#temporal-mapping
"""

from nestmap.costmodel.flat_problem import FlatProblem
from nestmap.costmodel.kernel.jit import kernel
from nestmap.costmodel.kernel.record import OUT
from nestmap.costmodel.kernel.work import Work
from nestmap.model import Relevance

IRRELEVANT = int(Relevance.IRRELEVANT)
RELEVANT = int(Relevance.RELEVANT)
PARTIALLY_RELEVANT = int(Relevance.PARTIALLY_RELEVANT)


@kernel
def place_loops(problem: FlatProblem, work: Work) -> None:
    """Moves cuts up past ir loops: a level keeps its data while they run.

    For inputs the innermost ir loops end below level 1: the array reuses a word if it can hold
    one.

    Formula: docs/cost-model.md#data-that-stays-in-place

    Reads: loops, dimension, cut.
    Fills: stationary_cut.
    """
    loops = work.loops
    for x in range(problem.operands):
        for level in range(problem.levels[x] + 1):
            cut = work.cut[x, level] if level > 0 else 0
            if level > 0 or (x != OUT and problem.holds_inputs == 1):
                while cut < loops and problem.relevance[x, work.dimension[cut]] == IRRELEVANT:
                    cut += 1
            work.stationary_cut[x, level] = cut


@kernel
def count_cycles(problem: FlatProblem, work: Work) -> None:
    """Iterations of all loops at or below each level.

    Formula: docs/cost-model.md#cycles-of-a-level

    Reads: factor, stationary_cut.
    Fills: cycles.
    """
    for x in range(problem.operands):
        count_operand_cycles(problem, work, x)


@kernel
def count_operand_cycles(problem: FlatProblem, work: Work, x: int) -> None:
    """The same for the levels of one operand."""
    done, product = 0, 1.0
    for level in range(problem.levels[x] + 1):
        while done < work.stationary_cut[x, level]:
            product *= work.factor[done]
            done += 1
        work.cycles[x, level] = product


@kernel
def measure_tops(problem: FlatProblem, work: Work) -> None:
    """Products of the contiguous r, and ir, loops at the top of each level.

    Level 1 also counts the loops during which the array reuses a word.

    Formula: docs/cost-model.md#reuse-at-the-top-of-a-level

    Reads: dimension, factor, stationary_cut.
    Fills: top_relevant, top_irrelevant.
    """
    for x in range(problem.operands):
        work.top_relevant[x, 0] = work.top_irrelevant[x, 0] = 1.0
        for level in range(1, problem.levels[x] + 1):
            low = work.stationary_cut[x, level - 1] if level > 1 else 0
            high = work.stationary_cut[x, level]
            work.top_relevant[x, level] = _top_product(problem, work, x, low, high, RELEVANT)
            work.top_irrelevant[x, level] = _top_product(problem, work, x, low, high, IRRELEVANT)


@kernel
def _top_product(problem: FlatProblem, work: Work, x: int, low: int, high: int, kind: int) -> float:
    product, at = 1.0, high - 1
    while at >= low and problem.relevance[x, work.dimension[at]] == kind:
        product *= work.factor[at]
        at -= 1
    return product
