"""Data transfers between levels: bits per period, and number of periods.

A transfer at memory level ``l`` towards the array or from it uses the link above level ``l - 1``,
any other uses the link above level ``l``. The link above level ``j`` transfers the data that level
``j`` holds once per period; a period lasts for the loops at or below level ``j``.

Formulas: docs/cost-model.md#transfers
"""

from __future__ import annotations

from nestmap.costmodel.flat_problem import FlatProblem
from nestmap.costmodel.kernel.axes import OUT, RD_LOW, WR_HIGH, WR_LOW
from nestmap.costmodel.kernel.jit import kernel
from nestmap.costmodel.kernel.work import Work


@kernel
def link_of(problem: FlatProblem, transfer: int) -> int:
    """The level below the link that a transfer uses."""
    movement = problem.transfer_movement[transfer]
    towards_array = movement in (RD_LOW, WR_LOW)
    return int(problem.transfer_level[transfer]) - (1 if towards_array else 0)


@kernel
def is_backward(problem: FlatProblem, transfer: int) -> bool:
    """Whether a transfer brings partial sums back towards the array."""
    movement = problem.transfer_movement[transfer]
    return problem.transfer_operand[transfer] == OUT and movement in (RD_LOW, WR_HIGH)


@kernel
def measure_transfers(problem: FlatProblem, work: Work) -> None:
    """Bits that every transfer moves in one period, and its number of periods.

    Formula: docs/cost-model.md#bits-of-a-period-and-periods

    Reads: elements, psum_above, cycles, same_data.
    Fills: bits, times.
    """
    for x in range(problem.operands):
        for link in range(problem.levels[x]):
            if work.same_data[x, link] == 1:
                continue
            periods = work.cycles[x, problem.levels[x]] / work.cycles[x, link]
            for view in range(problem.views):
                unfinished = x == OUT and work.psum_above[view, link] == 1
                precision = problem.partial_precision[x] if unfinished else problem.precision[x]
                for i in range(problem.link_transfers[x, link]):
                    t = problem.link_transfer[x, link, i]
                    words = work.elements[view, x, link]
                    if link < problem.transfer_level[t]:
                        words *= problem.boost[view, x, link]
                    happens = unfinished or not is_backward(problem, t)
                    work.bits[view, t] = words * precision if happens else 0.0
                    work.times[view, t] = periods if happens else 0.0
