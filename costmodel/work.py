"""The arrays that a kernel fills for one mapping, allocated once and used for every row."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from nestmap.costmodel.jit import kernel
from nestmap.costmodel.problem import F64, I64, Flags, FlatProblem


class Work(NamedTuple):
    """Every quantity of one mapping's evaluation; axes as in ``FlatProblem`` (``n``: loops)."""

    dimension: I64  # [n] loop dimension of each loop, innermost first
    size: F64  # [n]
    extent: F64  # [d] scratch: iterations of each dimension
    cut: I64  # [x, l] loops at or below a level, after loops moved down to where data stays
    cycles: F64  # [x, l] product of those loops
    top_relevant: F64  # [x, l] product of the contiguous r loops at the top of a level
    top_irrelevant: F64  # [x, l] the same for ir loops
    elements: F64  # [v, x, l] elements that one instance holds
    psum_above: Flags  # [v, l] whether partial sums of the output cross the link above level l
    held: F64  # [v, x, l] bits that one instance holds
    utilization: F64  # [x, l] held bits over memory size
    effective: F64  # [x, l] the same for bits that are live at once
    shared: F64  # [m] sum of utilization over what the memory holds
    effective_shared: F64  # [m]
    promised: F64  # [m] effective_shared and what double buffers take beside it
    doubled: Flags  # [x, l] whether the level works double-buffered
    bits: F64  # [v, t] bits that a transfer moves in one period
    count: F64  # [v, t] periods in the whole run; 0: it does not happen
    accesses: F64  # [t] word accesses
    energy: F64  # [t] pJ
    allowed: F64  # [t] cycles of the window in which it must happen
    real: F64  # [t] cycles that it takes
    loading: F64  # [t] cycles that the first (inputs) or last (output) transfer costs
    port_stall: F64  # [p] stall (positive) or slack of a port
    sequence: I64  # [t] scratch: transfers of a port in some order
    periods: F64  # [t] scratch of the window union
    windows: F64
    gain: F64
    rest: F64


class Totals(NamedTuple):
    """The figures of one row: energy in pJ, the rest in cycles."""

    memory_energy: float
    mac_energy: float
    ideal_temporal: float
    stall: float
    onloading: float
    offloading: float


@kernel
def new_work(problem: FlatProblem, loops: int) -> Work:
    """Work arrays for mappings of that many loops."""
    operands, levels = problem.memory.shape
    memories, ports = len(problem.memory_size), len(problem.port_max)
    transfers = len(problem.transfer_operand)
    level = (operands, levels)
    return Work(
        np.zeros(loops, np.int64),
        np.zeros(loops),
        np.ones(problem.relevance.shape[1]),
        np.zeros(level, np.int64),
        np.ones(level),
        np.ones(level),
        np.ones(level),
        np.ones((2, operands, levels)),
        np.zeros((2, levels), np.bool_),
        np.zeros((2, operands, levels)),
        np.zeros(level),
        np.zeros(level),
        np.zeros(memories),
        np.zeros(memories),
        np.zeros(memories),
        np.zeros(level, np.bool_),
        np.zeros((2, transfers)),
        np.zeros((2, transfers)),
        np.zeros(transfers),
        np.zeros(transfers),
        np.zeros(transfers),
        np.zeros(transfers),
        np.zeros(transfers),
        np.zeros(ports),
        np.zeros(transfers, np.int64),
        np.zeros(transfers),
        np.zeros(transfers),
        np.zeros(transfers),
        np.zeros(transfers),
    )
