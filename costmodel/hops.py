"""Words that units hand on to their neighbors: the energy and the cycles of these hops."""

import numpy as np

from nestmap.costmodel.flat_problem import FlatProblem
from nestmap.costmodel.kernel.jit import kernel
from nestmap.costmodel.kernel.record import FRACTIONAL, OUT, RD_LOW, WR_LOW
from nestmap.costmodel.kernel.work import Work
from nestmap.costmodel.periods import End, sum_words
from nestmap.costmodel.skipping import share_of_periods
from nestmap.costmodel.transfers import link_of
from nestmap.costmodel.zeros import share_of_accesses


@kernel
def shared_below(problem: FlatProblem, x: int, link: int) -> float:
    """The instances of a level, per memory above, that get their words from another one.

    Formula: docs/cost-model.md#hops
    """
    receivers = problem.units[FRACTIONAL, x, link] / problem.units[FRACTIONAL, x, link + 1]
    return float(max(0.0, receivers - problem.boost[FRACTIONAL, x, link]))


@kernel
def handed_on_bits(problem: FlatProblem, work: Work, transfer: int) -> float:
    """Bits that what lies below a memory hands on, for all data of one of its transfers.

    A word that several share goes from one to the next, once fewer than there are; a sum to which
    several add on its way up does, too.

    Formula: docs/cost-model.md#hops

    Reads: dimension, factor, stationary_cut, elements, slides, fresh, moved, run, times.
    Fills: asked_bits, asked_narrow, asked_wide, extent, tile, period, last, full, first_full,
    first_last, edge, words, first_words, least_words, least_first.
    """
    x, link = problem.transfer_operand[transfer], link_of(problem, transfer)
    if problem.transfer_movement[transfer] != (WR_LOW if x == OUT else RD_LOW):
        return 0.0
    sharing, memories = shared_below(problem, x, link), problem.units[FRACTIONAL, x, link + 1]
    slides = work.slides[x, link]
    words = work.elements[FRACTIONAL, x, link] * (work.times[FRACTIONAL, transfer] - slides)
    if problem.counts_clipped == 1:
        sharing = memories = 1.0
        words = sum_words(problem, work, End(x, link, 0), 1.0, 1.0, 1.0)[0]
        words -= sum_words(problem, work, End(x, link, 1), 1.0, 1.0, 1.0)[0]
    elif slides > 0:
        words += work.fresh[FRACTIONAL, x, link] * slides
    if link == 0 and problem.least_share[x] < 1.0:
        words *= share_of_accesses(problem, work, x)
    return float(sharing * words * memories * problem.partial_bits[x, 0])


@kernel
def hop_energy_of(problem: FlatProblem, work: Work, transfer: int) -> float:
    """The energy of the hops of one transfer, in pJ.

    Formula: docs/cost-model.md#hops

    Reads: dimension, factor, stationary_cut, elements, slides, fresh, moved, run, times.
    Fills: asked_bits, asked_narrow, asked_wide, extent, tile, period, last, full, first_full,
    first_last, edge, words, first_words, least_words, least_first.
    """
    if problem.hop_energy == 0.0:
        return 0.0
    return handed_on_bits(problem, work, transfer) * float(problem.hop_energy)


@kernel
def hop_energy(problem: FlatProblem, work: Work) -> float:
    """The energy of all hops, in pJ.

    Formula: docs/cost-model.md#hops

    Reads: dimension, factor, stationary_cut, elements, slides, fresh, moved, run, times.
    Fills: asked_bits, asked_narrow, asked_wide, extent, tile, period, last, full, first_full,
    first_last, edge, words, first_words, least_words, least_first.
    """
    total = 0.0
    if problem.hop_energy == 0.0:
        return total
    for t in range(problem.transfers):
        total += hop_energy_of(problem, work, t)
    return total


@kernel
def hop_cycles(problem: FlatProblem, work: Work, x: int, link: int) -> float:
    """Cycles in which each link between units below a memory hands on words of an operand.

    All links are equally busy: each hands on all words of the unit behind it. 0 where nothing is
    shared. Gated operations take their cycles, and so do their words.

    Formula: docs/cost-model.md#busy-hops

    Reads: dimension, factor, stationary_cut, cycles, elements, slides, fresh, moved, run.
    Fills: asked_bits, asked_narrow, asked_wide, extent, tile, period, last, full, first_full,
    first_last, edge, words, first_words, least_words, least_first.
    """
    if shared_below(problem, x, link) == 0.0:
        return 0.0
    view, bits, slides = problem.views - 1, problem.partial_bits[x, 0], work.slides[x, link]
    periods = work.cycles[x, problem.levels[x]] / work.cycles[x, link]
    if problem.counts_clipped == 1:
        end, wide = End(x, link, 0), float(problem.hop_bandwidth)
        cycles = sum_words(problem, work, end, bits, 1.0, wide)[1]
        return float(cycles * share_of_periods(problem, work, x, link))
    whole = np.ceil(work.elements[view, x, link] * bits / problem.hop_bandwidth)
    cycles = whole * (periods - slides)
    if slides > 0:
        cycles += np.ceil(work.fresh[view, x, link] * bits / problem.hop_bandwidth) * slides
    return float(cycles * share_of_periods(problem, work, x, link))


@kernel
def hop_stall(problem: FlatProblem, work: Work, x: int, link: int, others: float) -> float:
    """The stall of links between units, or their slack where negative, in cycles.

    ``others`` are the cycles of computation, loading and drain.

    Formula: docs/cost-model.md#busy-hops

    Reads: dimension, factor, stationary_cut, cycles, elements, slides, fresh, moved, run.
    Fills: asked_bits, asked_narrow, asked_wide, extent, tile, period, last, full, first_full,
    first_last, edge, words, first_words, least_words, least_first.
    """
    return float(np.ceil(hop_cycles(problem, work, x, link) - others))


@kernel
def wait_for_hops(problem: FlatProblem, work: Work, stall: float, others: float) -> float:
    """The stall with which a layer takes at least as long as each link between units is busy.

    ``stall`` is that of ports, ``others`` are the cycles of computation, loading and drain.

    Formula: docs/cost-model.md#busy-hops

    Reads: dimension, factor, stationary_cut, cycles, elements, slides, fresh, moved, run.
    Fills: asked_bits, asked_narrow, asked_wide, extent, tile, period, last, full, first_full,
    first_last, edge, words, first_words, least_words, least_first.
    """
    worst = stall
    if problem.hop_bandwidth == np.inf:
        return worst
    for x in range(problem.operands):
        for link in range(problem.levels[x]):
            worst = max(worst, hop_stall(problem, work, x, link, others))
    return worst
