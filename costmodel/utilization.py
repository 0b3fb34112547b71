"""Utilization of memories, and the levels that can double-buffer."""

from __future__ import annotations

import numpy as np

from nestmap.costmodel.flat_problem import FlatProblem
from nestmap.costmodel.kernel.axes import FRACTIONAL
from nestmap.costmodel.kernel.jit import kernel
from nestmap.costmodel.kernel.work import Work


@kernel
def utilize_memories(problem: FlatProblem, work: Work) -> None:
    """The share of a memory that an operand uses at each level, and the sums by memory.

    Formula: docs/cost-model.md#utilization

    Reads: held, top_relevant, same_levels, same_data.
    Fills: utilization, effective, shared, effective_shared.
    """
    for memory in range(problem.memories):
        work.shared[memory] = 0.0
        work.effective_shared[memory] = 0.0
    for x in range(problem.operands):
        for level in range(1, problem.levels[x] + 1):
            memory = problem.memory[x, level]
            held, size = work.held[FRACTIONAL, x, level], problem.memory_size[memory]
            if level >= work.same_levels[x] or work.same_data[x, level] == 0:
                work.utilization[x, level] = held / size
                work.effective[x, level] = np.floor(held / work.top_relevant[x, level]) / size
            work.shared[memory] += work.utilization[x, level]
            work.effective_shared[memory] += work.effective[x, level]


@kernel
def find_double_buffers(problem: FlatProblem, work: Work) -> None:
    """The levels that load the next data while the current data is in use.

    Operands are served in the layer's order; each reduces the capacity left for the next.

    Formula: docs/cost-model.md#double-buffering

    Reads: effective, effective_shared.
    Fills: promised, doubled, same_window.
    """
    for memory in range(problem.memories):
        work.promised[memory] = work.effective_shared[memory]
    for x in range(problem.operands):
        work.doubled[x, 0] = 0
        for level in range(1, problem.levels[x] + 1):
            memory, own = problem.memory[x, level], work.effective[x, level]
            doubled = 1
            if work.promised[memory] > 0.5:
                if own <= 1 - work.promised[memory]:
                    work.promised[memory] += own
                else:
                    doubled = 0
            if doubled != work.doubled[x, level]:
                work.same_window[x, level] = 0
            work.doubled[x, level] = doubled
