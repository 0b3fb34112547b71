"""How full memories are, and which levels can work double-buffered (spec section 7.1, 7.2)."""

from __future__ import annotations

import numpy as np

from nestmap.costmodel.flatten import FlatProblem
from nestmap.costmodel.kernel.axes import FRACTIONAL
from nestmap.costmodel.kernel.jit import kernel
from nestmap.costmodel.kernel.work import Work


@kernel
def utilize_memories(problem: FlatProblem, work: Work) -> None:
    """``utilization`` and ``effective`` of operands at levels; ``shared`` sums of memories."""
    for memory in range(problem.memories):
        work.shared[memory] = 0.0
        work.effective_shared[memory] = 0.0
    for x in range(problem.operands):
        for level in range(1, problem.levels[x] + 1):
            memory = problem.memory[x, level]
            held, size = work.held[FRACTIONAL, x, level], problem.memory_size[memory]
            work.utilization[x, level] = held / size
            work.effective[x, level] = np.floor(held / work.top_relevant[x, level]) / size
            work.shared[memory] += work.utilization[x, level]
            work.effective_shared[memory] += work.effective[x, level]


@kernel
def find_double_buffers(problem: FlatProblem, work: Work) -> None:
    """``doubled``: there is room for the next data beside the live one.

    Operands ask in the layer's order; what one of them takes is gone for the next.
    """
    promised = work.promised
    for memory in range(problem.memories):
        promised[memory] = work.effective_shared[memory]
    for x in range(problem.operands):
        work.doubled[x, 0] = 0
        for level in range(1, problem.levels[x] + 1):
            memory, own = problem.memory[x, level], work.effective[x, level]
            if promised[memory] <= 0.5:
                work.doubled[x, level] = 1
            elif own <= 1 - promised[memory]:
                work.doubled[x, level] = 1
                promised[memory] += own
            else:
                work.doubled[x, level] = 0
