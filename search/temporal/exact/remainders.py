"""The least that an operand still spends from any point on, if it had the memories to itself."""

from __future__ import annotations

import numpy as np

from nestmap.costmodel.flat_problem import FlatProblem
from nestmap.costmodel.kernel.jit import kernel
from nestmap.model.arrays import Floats
from nestmap.search.temporal.exact.lattice import Lattice


@kernel
def remainders(problem: FlatProblem, lattice: Lattice, spent: Floats) -> Floats:
    """[k, x, l, p] least of each resource to cross boundaries ``l`` and above from ``p`` on.

    ``spent`` [k, x, l, p] is what crossing a boundary at a point spends. The resources of operands
    add up, so the sum over the operands bounds every way to complete an order from below. Only the
    first resource, energy, tells where nothing fits, if an operand spends nothing of another one.
    """
    least = np.zeros(spent.shape)
    for k in range(len(spent)):
        for x in range(problem.operands):
            if k == 0 or _is_spent(spent[k, x]):
                accumulate(lattice, spent[k, x], problem.levels[x], least[k, x])
    return least


@kernel
def _is_spent(spent: Floats) -> bool:
    """Whether any crossing that is possible spends something."""
    for level in range(spent.shape[0]):
        for p in range(spent.shape[1]):
            if 0.0 < spent[level, p] < np.inf:
                return True
    return False


@kernel
def accumulate(lattice: Lattice, spent: Floats, top: int, least: Floats) -> None:
    """Fills [l, p] the least of one resource for one operand with ``top`` memory levels.

    A minimum over all later points, boundary by boundary from the outermost.
    """
    last = len(lattice.depth) - 1
    least[top] = spent[top, last]
    for level in range(top - 1, -1, -1):
        for p in range(last, -1, -1):
            value = spent[level, p] + least[level + 1, p]
            for f in range(len(lattice.factors)):
                after = lattice.step[p, f]
                if after >= 0:
                    value = min(value, least[level, after])
            least[level, p] = value
