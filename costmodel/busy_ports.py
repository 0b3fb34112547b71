"""How long ports are busy, and the latency that this takes at least."""

from __future__ import annotations

import numpy as np

from nestmap.costmodel.flat_problem import FlatProblem
from nestmap.costmodel.kernel.jit import kernel
from nestmap.costmodel.kernel.work import Work
from nestmap.costmodel.transfers import link_of


@kernel
def busy_cycles(problem: FlatProblem, work: Work, port: int) -> float:
    """Cycles in which a port moves data: those of all periods of all of its transfers.

    Formula: docs/cost-model.md#busy-ports

    Reads: slides, times, needed, fresh_needed.
    Fills: nothing.
    """
    view, busy = problem.views - 1, 0.0
    for t in range(problem.first_transfer[port], problem.first_transfer[port + 1]):
        slides = work.slides[problem.transfer_operand[t], link_of(problem, t)]
        if work.times[view, t] > 0:
            busy += work.needed[t] * (work.times[view, t] - slides)
            if slides > 0:
                busy += work.fresh_needed[t] * slides
    return busy


@kernel
def stall_of(problem: FlatProblem, work: Work, port: int) -> float:
    """The stall of a port, or its slack where negative, in cycles.

    Formula: docs/cost-model.md#busy-ports

    Reads: port_stall, port_wait.
    Fills: nothing.
    """
    stalls = work.port_wait if problem.strict_ports == 1 else work.port_stall
    return float(stalls[port])


@kernel
def wait_for_ports(problem: FlatProblem, work: Work, stall: float, others: float) -> float:
    """The stall with which a layer takes at least as long as each of its ports is busy.

    ``stall`` is that of single transfers, ``others`` are the cycles of computation, loading and
    drain.

    Formula: docs/cost-model.md#busy-ports

    Reads: slides, times, needed, fresh_needed, port_stall.
    Fills: port_wait.
    """
    worst = stall
    for port in range(problem.ports):
        missing = np.ceil(busy_cycles(problem, work, port) - others)
        work.port_wait[port] = missing if missing > stall else work.port_stall[port]
        worst = max(worst, missing)
    return worst
