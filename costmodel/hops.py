"""Words that units hand on to their neighbors, and the energy of these hops."""

from __future__ import annotations

from nestmap.costmodel.flat_problem import FlatProblem
from nestmap.costmodel.kernel.axes import FRACTIONAL, OUT, RD_LOW, WR_LOW
from nestmap.costmodel.kernel.jit import kernel
from nestmap.costmodel.kernel.work import Work
from nestmap.costmodel.transfers import link_of
from nestmap.costmodel.zeros import share_of_accesses


@kernel
def handed_on_bits(problem: FlatProblem, work: Work, transfer: int) -> float:
    """Bits that what lies below a memory hands on, for all data of one of its transfers.

    A word that several share goes from one to the next, once fewer than there are; a sum to which
    several add on its way up does, too.

    Formula: docs/cost-model.md#hops

    Reads: elements, slides, fresh, times, dimension, factor, stationary_cut.
    Fills: extent.
    """
    x, link = problem.transfer_operand[transfer], link_of(problem, transfer)
    if problem.transfer_movement[transfer] != (WR_LOW if x == OUT else RD_LOW):
        return 0.0
    memories = problem.units[FRACTIONAL, x, link + 1]
    receivers = problem.units[FRACTIONAL, x, link] / memories
    sharing = receivers - problem.boost[FRACTIONAL, x, link]
    slides = work.slides[x, link]
    words = work.elements[FRACTIONAL, x, link] * (work.times[FRACTIONAL, transfer] - slides)
    if slides > 0:
        words += work.fresh[FRACTIONAL, x, link] * slides
    if link == 0 and problem.least_share[x] < 1.0:
        words *= share_of_accesses(problem, work, x)
    return float(max(0.0, sharing) * words * memories * problem.partial_bits[x, 0])


@kernel
def hop_energy_of(problem: FlatProblem, work: Work, transfer: int) -> float:
    """The energy of the hops of one transfer, in pJ.

    Formula: docs/cost-model.md#hops

    Reads: elements, slides, fresh, times, dimension, factor, stationary_cut.
    Fills: extent.
    """
    if problem.hop_energy == 0.0:
        return 0.0
    return handed_on_bits(problem, work, transfer) * float(problem.hop_energy)


@kernel
def hop_energy(problem: FlatProblem, work: Work) -> float:
    """The energy of all hops, in pJ.

    Formula: docs/cost-model.md#hops

    Reads: elements, slides, fresh, times, dimension, factor, stationary_cut.
    Fills: extent.
    """
    total = 0.0
    if problem.hop_energy == 0.0:
        return total
    for t in range(problem.transfers):
        total += hop_energy_of(problem, work, t)
    return total
