"""On-loading the first inputs and off-loading the last outputs."""

import numpy as np

from nestmap.costmodel.flat_problem import FlatProblem
from nestmap.costmodel.kernel.jit import kernel
from nestmap.costmodel.kernel.record import OUT
from nestmap.costmodel.kernel.work import Work
from nestmap.costmodel.transfers import is_backward, link_of

ALONE, HALF_SHARED, SHARED = 0, 1, 2
"""The number of ports, of the two at the ends of a link, that serve both inputs."""


@kernel
def load_ports(problem: FlatProblem, work: Work, compute_cycles: float) -> None:
    """Cycles that every transfer adds, minus those hidden behind ``compute_cycles``.

    Formula: docs/cost-model.md#cycles-of-loading

    Reads: cycles, slides, held, bits, fresh_bits, times, needed.
    Fills: loading, sequence, once.
    """
    view = problem.views - 1
    for port in range(problem.ports):
        once, busy = 0, 0.0
        for t in range(problem.first_transfer[port], problem.first_transfer[port + 1]):
            work.loading[t] = 0.0
            if work.times[view, t] > 0 and not is_backward(problem, t):
                work.loading[t] = work.needed[t]
                if work.times[view, t] > 1:
                    busy += np.ceil(average_width(problem, work, t) / problem.cycles_per_operation)
                else:
                    once = _insert_by_cycles(work, once, t)
        work.once[port] = once
        free = max(0.0, (problem.port_max[port] - busy) / problem.port_max[port])
        _hide_behind_computation(problem, work, port, once, free * compute_cycles)


@kernel
def average_width(problem: FlatProblem, work: Work, t: int) -> float:
    """Bit/cycle of a transfer spread over its period, truncated to an integer."""
    view = problem.views - 1
    x, link = problem.transfer_operand[t], link_of(problem, t)
    boost = problem.boost[view, x, link] if link < problem.transfer_level[t] else 1.0
    bits, slides = work.bits[view, t], work.slides[x, link]
    if slides > 0:
        bits -= (bits - work.fresh_bits[view, t]) * slides / work.times[view, t]
    return float(np.trunc(bits / boost / work.cycles[x, link] * boost))


@kernel
def _insert_by_cycles(work: Work, used: int, t: int) -> int:
    """Inserts a transfer into ``sequence``, the longest first, ties in the order of transfers."""
    at = used
    while at > 0 and work.needed[work.sequence[at - 1]] < work.needed[t]:
        work.sequence[at] = work.sequence[at - 1]
        at -= 1
    work.sequence[at] = t
    return used + 1


@kernel
def _hide_behind_computation(
    problem: FlatProblem, work: Work, port: int, once: int, free: float
) -> None:
    """Subtracts ``free`` cycles from the transfers that happen once, the longest first.

    The cycles that level 1 needs to start (or to finish) cannot be hidden.
    """
    view = problem.views - 1
    for i in range(once):
        t = work.sequence[i]
        first = np.ceil(work.held[view, problem.transfer_operand[t], 1] / problem.port_max[port])
        hidden = max(0.0, min(free, work.needed[t] - first))
        work.loading[t] = work.needed[t] - hidden
        free -= hidden


@kernel
def link_cost(problem: FlatProblem, work: Work, x: int, link: int) -> float:
    """Cycles of a link: those of its slower end."""
    low, high = problem.link_ends[x, link, 0], problem.link_ends[x, link, 1]
    return float(max(work.loading[low], work.loading[high]))


@kernel
def onloading(problem: FlatProblem, work: Work) -> float:
    """Cycles until the first inputs have reached the innermost memories.

    Links whose ports serve both inputs at both ends are used sequentially by the inputs.

    Formula: docs/cost-model.md#on-loading

    Reads: loading.
    Fills: load.
    """
    for x in range(1, problem.operands):
        work.load[x, ALONE] = work.load[x, HALF_SHARED] = work.load[x, SHARED] = 0.0
        for link in range(1, problem.levels[x]):
            cost, sharing = link_cost(problem, work, x, link), problem.link_sharing[x, link]
            others = 0.0 if sharing == HALF_SHARED else work.load[x, sharing]
            work.load[x, sharing] = others + cost
    if problem.operands == 2:
        return float(work.load[1, ALONE])
    return min(_sequential_loading(work, 1, 2), _sequential_loading(work, 2, 1))


@kernel
def _sequential_loading(work: Work, first: int, second: int) -> float:
    """Cycles to load both inputs when ``first`` has the shared links first."""
    alone_first = work.load[first, HALF_SHARED] + work.load[first, ALONE]
    alone_second = work.load[second, HALF_SHARED] + work.load[second, ALONE]
    return float(
        work.load[first, SHARED] + max(work.load[second, SHARED] + alone_second, alone_first)
    )


@kernel
def offloading(problem: FlatProblem, work: Work) -> float:
    """Cycles until the last outputs have moved from the innermost memory to the top memory.

    Formula: docs/cost-model.md#off-loading-and-drain

    Reads: loading.
    Fills: nothing.
    """
    total = 0.0
    for link in range(1, problem.levels[OUT]):
        total += link_cost(problem, work, OUT, link)
    return total
