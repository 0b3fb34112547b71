"""Utilization of memories, and the levels that can double-buffer."""

from __future__ import annotations

import numpy as np

from nestmap.costmodel.flat_problem import FlatProblem
from nestmap.costmodel.kernel.axes import FRACTIONAL
from nestmap.costmodel.kernel.jit import kernel
from nestmap.costmodel.kernel.work import Work

REFUSED = -1.0


@kernel
def utilize_memories(problem: FlatProblem, work: Work) -> None:
    """The share of a memory that an operand uses at each level, and the sums by memory.

    Formula: docs/cost-model.md#utilization

    Reads: held, top_relevant.
    Fills: utilization, effective, shared, effective_shared.
    """
    for memory in range(problem.memories):
        work.shared[memory] = 0.0
        work.effective_shared[memory] = 0.0
    for x in range(problem.operands):
        for level in range(1, problem.levels[x] + 1):
            memory = problem.memory[x, level]
            held, size = work.held[FRACTIONAL, x, level], problem.memory_size[memory]
            work.utilization[x, level] = held / size
            work.effective[x, level] = live_share(held, work.top_relevant[x, level], float(size))
            work.shared[memory] += work.utilization[x, level]
            work.effective_shared[memory] += work.effective[x, level]


@kernel
def live_share(held: float, top_relevant: float, capacity: float) -> float:
    """The share of a memory that bits take which are live at once.

    Formula: docs/cost-model.md#utilization
    """
    return float(np.floor(held / top_relevant) / capacity)


@kernel
def find_double_buffers(problem: FlatProblem, work: Work) -> None:
    """The levels that load the next data while the current data is in use.

    Operands are served in the layer's order; each reduces the capacity left for the next.

    Formula: docs/cost-model.md#double-buffering

    Reads: effective, effective_shared.
    Fills: promised, doubled.
    """
    for memory in range(problem.memories):
        work.promised[memory] = work.effective_shared[memory]
    for x in range(problem.operands):
        work.doubled[x, 0] = 0
        for level in range(1, problem.levels[x] + 1):
            memory, doubled = problem.memory[x, level], 0
            promised = promise(float(work.promised[memory]), work.effective[x, level])
            if promised != REFUSED:
                work.promised[memory], doubled = promised, 1
            work.doubled[x, level] = doubled


@kernel
def promise(promised: float, own: float) -> float:
    """The share of a memory that is promised once a level double-buffers; ``REFUSED`` if it cannot.

    Formula: docs/cost-model.md#double-buffering
    """
    if promised <= 0.5:
        return promised
    return promised + own if own <= 1 - promised else REFUSED
