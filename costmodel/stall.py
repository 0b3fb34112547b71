"""Stall: the cycles in which computation waits for ports."""

import numpy as np

from nestmap.costmodel.flat_problem import FlatProblem
from nestmap.costmodel.kernel.jit import kernel
from nestmap.costmodel.kernel.work import Work
from nestmap.costmodel.transfers import later_periods, link_of
from nestmap.model.arrays import Floats

# --- the union of periodic windows in closed form ---
# Window ``k`` covers the first ``windows[k]`` cycles of each of its periods. The periods are
# prefix products of one loop order, so each divides the next longer one and the pattern of all
# shorter windows starts again in each of its periods. The length of the union within the first
# ``y`` cycles is then a sum over windows, the longest period first: whole periods count what one
# period covers, and what is left lies within the window, or outside of it among the shorter ones.
#
# Formula: docs/cost-model.md#union-of-windows


@kernel
def covered_cycles(
    y: float, windows_used: int, periods: Floats, gain: Floats, rest: Floats, windows: Floats
) -> float:
    """Cycles among the first ``y`` that one of the first ``windows_used`` windows covers."""
    total = 0.0
    for k in range(windows_used - 1, -1, -1):
        whole = np.floor(y / periods[k])
        total += whole * gain[k]
        y -= whole * periods[k]
        if y <= windows[k]:
            return float(total + y)
        total += rest[k]
    return total


@kernel
def window_union(n: int, periods: Floats, windows: Floats, gain: Floats, rest: Floats) -> float:
    """Cycles that ``n`` windows cover within the longest period.

    ``periods`` ascend and each divides the next; ``0 <= windows <= periods``. ``gain`` and
    ``rest`` are scratch: cycles covered in one period of a window, and those of them in the
    window itself that no shorter window covers.
    """
    for k in range(n):
        rest[k] = windows[k] - covered_cycles(windows[k], k, periods, gain, rest, windows)
        gain[k] = rest[k] + covered_cycles(periods[k], k, periods, gain, rest, windows)
    return float(gain[n - 1])


# --- stall: the cycles in which computation waits for ports ---


@kernel
def time_transfers(problem: FlatProblem, work: Work) -> None:
    """Cycles that every transfer is allowed, and cycles that it needs.

    A transfer may take the whole period if the memory below the link double-buffers, otherwise
    only the part of it in which the data at the link's lower side is not in use.

    Formula: docs/cost-model.md#cycles-that-a-transfer-needs-and-may-take

    Reads: cycles, slides, top_irrelevant, doubled, bits, fresh_bits.
    Fills: allowed, needed, fresh_needed.
    """
    view = problem.views - 1
    for x in range(problem.operands):
        for link in range(problem.levels[x]):
            window = work.cycles[x, link]
            if work.doubled[x, link] == 0:
                window = np.floor(window / work.top_irrelevant[x, link])
            allowed = np.ceil(window * problem.cycles_per_operation)
            for i in range(problem.link_transfers[x, link]):
                t = problem.link_transfer[x, link, i]
                port = problem.transfer_port[t]
                work.allowed[t] = allowed
                work.needed[t] = np.ceil(work.bits[view, t] / problem.port_max[port])
                if work.slides[x, link] > 0:
                    work.fresh_needed[t] = np.ceil(
                        work.fresh_bits[view, t] / problem.port_max[port]
                    )


@kernel
def worst_stall(problem: FlatProblem, work: Work) -> float:
    """The largest stall of a port, at least 0, in cycles.

    Formula: docs/cost-model.md#stall

    Reads: cycles, slides, bits, times, allowed, needed, fresh_needed.
    Fills: port_stall, sequence, periods, windows, gain, rest.
    """
    worst = 0.0
    for port in range(problem.ports):
        work.port_stall[port] = _port_stall(problem, work, port)
        worst = max(worst, work.port_stall[port])
    return worst


@kernel
def _port_stall(problem: FlatProblem, work: Work, port: int) -> float:
    """Stall of one port: its overdue transfers, and those that exceed the free time.

    Sums that would come back, but for first sums without a read, leave their windows to the others.
    """
    view = problem.views - 1
    active, overdue, slack, windows = 0, 0.0, 0.0, 0.0
    for t in range(problem.first_transfer[port], problem.first_transfer[port + 1]):
        if work.times[view, t] > 0 or work.bits[view, t] > 0:
            repeats = later_periods(problem, work, t)
            slides = work.slides[problem.transfer_operand[t], link_of(problem, t)]
            late = (work.needed[t] - work.allowed[t]) * (repeats - slides)
            overdue += max(0.0, late)
            slack += min(0.0, late)
            if slides > 0:
                late = (work.fresh_needed[t] - work.allowed[t]) * slides
                overdue += max(0.0, late)
                slack += min(0.0, late)
            windows += work.allowed[t] * repeats
            work.sequence[active] = t
            active += 1
    if active == 0:
        return 0.0
    if active == 1:
        return overdue if overdue > 0 else slack  # nothing early makes up for what is late
    return overdue + max(0.0, slack + windows - _shared_time(problem, work, active))


@kernel
def _shared_time(problem: FlatProblem, work: Work, active: int) -> float:
    """Cycles of the whole run that lie in the window of one of the ``active`` transfers."""
    for i in range(active):
        t = work.sequence[i]
        period = work.cycles[problem.transfer_operand[t], link_of(problem, t)]
        at = i
        while at > 0 and work.periods[at - 1] > period:
            work.periods[at], work.windows[at] = work.periods[at - 1], work.windows[at - 1]
            at -= 1
        work.periods[at], work.windows[at] = period, work.allowed[t]
    for i in range(active):
        work.periods[i] *= problem.cycles_per_operation
    longest = work.periods[active - 1]
    total = work.cycles[0, problem.levels[0]] * problem.cycles_per_operation
    union = window_union(active, work.periods, work.windows, work.gain, work.rest)
    return float(union * (total / longest))
