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
    add up, so the sum over the operands bounds every way to complete an order from below.
    """
    # a minimum over all later points, boundary by boundary from the outermost
    least, last = np.zeros(spent.shape), len(lattice.depth) - 1
    for k in range(len(spent)):
        for x in range(problem.operands):
            top = problem.levels[x]
            least[k, x, top, :] = spent[k, x, top, last]
            for level in range(top - 1, -1, -1):
                for p in range(last, -1, -1):
                    value = spent[k, x, level, p] + least[k, x, level + 1, p]
                    for f in range(len(lattice.factors)):
                        after = lattice.step[p, f]
                        if after >= 0:
                            value = min(value, least[k, x, level, after])
                    least[k, x, level, p] = value
    return least
