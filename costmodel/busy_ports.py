"""How long ports are busy, and the latency that this takes at least."""

import numpy as np

from nestmap.costmodel.flat_problem import FlatProblem
from nestmap.costmodel.kernel.jit import kernel
from nestmap.costmodel.kernel.work import Work
from nestmap.costmodel.skipping import share_of_periods
from nestmap.costmodel.transfers import link_of


@kernel
def moving_cycles(problem: FlatProblem, work: Work, transfer: int) -> float:
    """Cycles of all periods of a transfer, but for those that are skipped.

    Formula: docs/cost-model.md#busy-ports

    Reads: cycles, slides, times, needed, fresh_needed, wide_words.
    Fills: nothing.
    """
    x, link = problem.transfer_operand[transfer], link_of(problem, transfer)
    times, slides = work.times[problem.views - 1, transfer], work.slides[x, link]
    if times == 0:
        return 0.0
    cycles = work.needed[transfer] * (times - slides)
    if problem.counts_clipped == 1:
        cycles = work.wide_words[transfer]
    elif slides > 0:
        cycles += work.fresh_needed[transfer] * slides
    return float(cycles * share_of_periods(problem, work, x, link))


@kernel
def busy_cycles(problem: FlatProblem, work: Work, port: int) -> float:
    """Cycles in which a port moves data: those of all periods of all of its transfers.

    Formula: docs/cost-model.md#busy-ports

    Reads: cycles, slides, times, needed, fresh_needed, wide_words.
    Fills: nothing.
    """
    busy = 0.0
    for t in range(problem.first_transfer[port], problem.first_transfer[port + 1]):
        busy += moving_cycles(problem, work, t)
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

    Reads: cycles, slides, times, needed, fresh_needed, wide_words, port_stall.
    Fills: port_wait.
    """
    worst = stall
    for port in range(problem.ports):
        missing = np.ceil(busy_cycles(problem, work, port) - others)
        work.port_wait[port] = missing if missing > stall else work.port_stall[port]
        worst = max(worst, missing)
    return worst
