"""The record that kernels fill for one mapping, used again for every row of a batch."""

from __future__ import annotations

from typing import Annotated, NamedTuple, final

from nestmap.costmodel.kernel.record import (
    DIMENSIONS,
    F64,
    I64,
    LEVELS,
    LOOPS,
    MEMORIES,
    OPERANDS,
    PORTS,
    TRANSFERS,
    VIEWS,
)


@final
class Work:
    """Every quantity of one mapping's evaluation; axes as in ``FlatProblem`` (``n``: loops)."""

    loops: int
    dimension: Annotated[I64, (LOOPS,)]  # [n] loop dimension of each loop, innermost first
    factor: Annotated[F64, (LOOPS,)]  # [n]
    tile: float  # scratch: elements of an operand in the loops counted so far
    extent: Annotated[F64, (DIMENSIONS,)]  # [d] scratch: iterations of a pr dimension in them
    # [x, l] loops at or below a level, after loops have moved down to where data stays in place
    cut: Annotated[I64, (OPERANDS, LEVELS)]
    cycles: Annotated[F64, (OPERANDS, LEVELS)]  # [x, l] product of those loops
    # [x, l] product of the contiguous r (ir) loops at the top of a level
    top_relevant: Annotated[F64, (OPERANDS, LEVELS)]
    top_irrelevant: Annotated[F64, (OPERANDS, LEVELS)]
    elements: Annotated[F64, (VIEWS, OPERANDS, LEVELS)]  # [v, x, l] held by one instance
    # [v, l] 1 where partial sums of the output cross the link above level l
    psum_above: Annotated[I64, (VIEWS, LEVELS)]
    held: Annotated[F64, (VIEWS, OPERANDS, LEVELS)]  # [v, x, l] bits that one instance holds
    utilization: Annotated[F64, (OPERANDS, LEVELS)]  # [x, l] held bits over memory size
    effective: Annotated[F64, (OPERANDS, LEVELS)]  # [x, l] the same for bits live at once
    shared: Annotated[F64, (MEMORIES,)]  # [m] sum of utilization over what the memory holds
    effective_shared: Annotated[F64, (MEMORIES,)]  # [m]
    promised: Annotated[F64, (MEMORIES,)]  # [m] effective_shared and what double buffers take
    doubled: Annotated[I64, (OPERANDS, LEVELS)]  # [x, l] 1 where the level double-buffers
    bits: Annotated[F64, (VIEWS, TRANSFERS)]  # [v, t] bits that a transfer moves in one period
    times: Annotated[F64, (VIEWS, TRANSFERS)]  # [v, t] periods in the whole run; 0: never
    accesses: Annotated[F64, (TRANSFERS,)]  # [t] word accesses
    energy: Annotated[F64, (TRANSFERS,)]  # [t] pJ
    allowed: Annotated[F64, (TRANSFERS,)]  # [t] cycles of the window in which it must happen
    needed: Annotated[F64, (TRANSFERS,)]  # [t] cycles that it takes
    # [t] cycles that the first (inputs) or last (output) transfer costs
    loading: Annotated[F64, (TRANSFERS,)]
    # [x, sharing] cycles of an input's links, by how many of their ends serve both inputs
    load: Annotated[F64, (OPERANDS, 3)]
    port_stall: Annotated[F64, (PORTS,)]  # [p] stall (positive) or slack of a port
    sequence: Annotated[I64, (TRANSFERS,)]  # scratch: transfers of a port in some order
    # scratch of the window union, in ascending order of periods
    periods: Annotated[F64, (TRANSFERS,)]
    windows: Annotated[F64, (TRANSFERS,)]
    gain: Annotated[F64, (TRANSFERS,)]
    rest: Annotated[F64, (TRANSFERS,)]


class Totals(NamedTuple):
    """The figures of one row: energy in pJ, the rest in cycles."""

    memory_energy: float
    mac_energy: float
    ideal_temporal: float
    stall: float
    onloading: float
    offloading: float
