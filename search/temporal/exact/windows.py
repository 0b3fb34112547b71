"""Windows of transfers along a path: how late transfers are, once it is known what runs below them.

A level that does not double-buffer can be filled only while its data is not in use, which depends
on the loops at its top. What boundaries spend has no order of loops, so the bound of a stall takes
the longest window that there is. A search that follows one path at a time knows the loops below a
boundary, and with them the window.

Formula: docs/cost-model.md#cycles-that-a-transfer-needs-and-may-take
"""

from typing import NamedTuple

import numpy as np

from nestmap.costmodel.flat_problem import FlatProblem
from nestmap.costmodel.footprint import count_bits
from nestmap.costmodel.kernel.jit import kernel
from nestmap.costmodel.kernel.work import Work
from nestmap.costmodel.stall import time_transfers
from nestmap.costmodel.transfers import later_periods, link_of
from nestmap.model.arrays import Flags, Floats
from nestmap.search.temporal.exact.lattice import Lattice, load_point, most_levels
from nestmap.search.temporal.exact.resources import (
    is_single,
    link_energy,
    measure_operand,
    put_operand_boundaries,
)


class Windows(NamedTuple):
    """What the transfers over a boundary need, and which levels cannot double-buffer.

    Axes: ``t`` transfers, ``x`` operands, ``l`` boundaries, ``p`` points.
    """

    needed: Floats  # [t, p] cycles of a period
    later: Floats  # [t, p] periods during computation
    cycles: Floats  # [p] of operations below
    is_single: Flags  # [x, l, p] no double buffer where loops at the top leave the data in place


@kernel
def windows_of(problem: FlatProblem, work: Work, lattice: Lattice) -> Windows:
    """The windows of all boundaries at all points; the work arrays are scratch."""
    points, levels = len(lattice.depth), most_levels(problem) + 1
    transfers = problem.first_transfer[problem.ports]
    windows = Windows(
        np.zeros((transfers, points)),
        np.zeros((transfers, points)),
        np.zeros(points),
        np.zeros((problem.operands, levels, points), np.bool_),
    )
    for p in range(points):
        load_point(work, lattice, p)
        for x in range(problem.operands):
            put_operand_boundaries(problem, work, x, lattice.depth[p])
            measure_operand(problem, work, x)
            for link in range(problem.levels[x]):
                link_energy(problem, work, x, link)
        count_bits(problem, work)
        time_transfers(problem, work)
        for t in range(transfers):
            slides = work.slides[problem.transfer_operand[t], link_of(problem, t)]
            windows.needed[t, p] = work.needed[t]
            windows.later[t, p] = max(0.0, later_periods(problem, work, t) - slides)
        windows.cycles[p] = work.cycles[0, 0]
        for x in range(problem.operands):
            for level in range(1, problem.levels[x] + 1):
                windows.is_single[x, level, p] = is_single(problem, work, x, level)
    return windows


@kernel
def add_late(
    problem: FlatProblem, windows: Windows, place: tuple[int, int, int], stays: float, late: Floats
) -> None:
    """Adds to ``late`` [port] the cycles by which the transfers over a boundary are late.

    ``place``: operand, boundary and point. The loops at the top of the level leave its data in
    place for ``stays`` iterations.
    """
    x, level, p = place
    window = windows.cycles[p]
    if windows.is_single[place]:
        window = np.floor(window / stays)
    allowed = np.ceil(window * problem.cycles_per_operation)
    for i in range(problem.link_transfers[x, level]):
        t = problem.link_transfer[x, level, i]
        overdue = max(0.0, windows.needed[t, p] - allowed)
        late[problem.transfer_port[t]] += overdue * windows.later[t, p]
