"""Where loops keep data in place: stationarity, cycles and the reuse at the top of each level."""

from __future__ import annotations

from nestmap.costmodel.flatten import FlatProblem
from nestmap.costmodel.kernel.axes import OUT
from nestmap.costmodel.kernel.jit import kernel
from nestmap.costmodel.kernel.work import Work
from nestmap.model import Relevance

IRRELEVANT = int(Relevance.IRRELEVANT)
RELEVANT = int(Relevance.RELEVANT)
PARTIALLY_RELEVANT = int(Relevance.PARTIALLY_RELEVANT)


@kernel
def place_loops(problem: FlatProblem, work: Work) -> None:
    """Moves cuts up past ir loops: a level keeps its data while they run (spec section 3).

    For inputs the innermost ir loops end below level 1: a word stays in place at the array, if
    the array can hold it.
    """
    loops = work.loops
    for x in range(problem.operands):
        work.cut[x, 0] = 0
        for level in range(problem.levels[x] + 1):
            if level == 0 and (x == OUT or problem.holds_inputs == 0):
                continue
            cut = work.cut[x, level]
            while cut < loops and problem.relevance[x, work.dimension[cut]] == IRRELEVANT:
                cut += 1
            work.cut[x, level] = cut


@kernel
def count_cycles(problem: FlatProblem, work: Work) -> None:
    """``cycles``: iterations of all loops at or below each level (spec section 3)."""
    for x in range(problem.operands):
        done, product = 0, 1.0
        for level in range(problem.levels[x] + 1):
            while done < work.cut[x, level]:
                product *= work.factor[done]
                done += 1
            work.cycles[x, level] = product


@kernel
def measure_tops(problem: FlatProblem, work: Work) -> None:
    """``top_relevant`` and ``top_irrelevant`` of each level (spec section 3).

    Level 1 counts the loops too during which a word stays in place at the array.
    """
    for x in range(problem.operands):
        work.top_relevant[x, 0] = work.top_irrelevant[x, 0] = 1.0
        for level in range(1, problem.levels[x] + 1):
            low = work.cut[x, level - 1] if level > 1 else 0
            high = work.cut[x, level]
            work.top_relevant[x, level] = _top_product(problem, work, x, low, high, RELEVANT)
            work.top_irrelevant[x, level] = _top_product(problem, work, x, low, high, IRRELEVANT)


@kernel
def _top_product(problem: FlatProblem, work: Work, x: int, low: int, high: int, kind: int) -> float:
    product, at = 1.0, high - 1
    while at >= low and problem.relevance[x, work.dimension[at]] == kind:
        product *= work.factor[at]
        at -= 1
    return product
