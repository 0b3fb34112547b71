"""Word accesses and their energy."""

import numpy as np

from nestmap.costmodel.flat_problem import FlatProblem
from nestmap.costmodel.kernel.jit import kernel
from nestmap.costmodel.kernel.record import FRACTIONAL
from nestmap.costmodel.kernel.work import Work
from nestmap.costmodel.zeros import share_of_accesses


@kernel
def count_accesses(problem: FlatProblem, work: Work) -> None:
    """Accesses in full-width words; a period's data is rounded up to minimal-width words.

    Those at the array that gated operations alone would need do not happen.

    Formula: docs/cost-model.md#word-accesses, docs/cost-model.md#gated-operations

    Reads: dimension, factor, stationary_cut, slides, bits, times, fresh_bits, narrow_words.
    Fills: extent, accesses.
    """
    for x in range(problem.operands):
        for link in range(problem.levels[x]):
            count_link_accesses(problem, work, x, link)


@kernel
def count_link_accesses(problem: FlatProblem, work: Work, x: int, link: int) -> None:
    """The same for the transfers over one link."""
    is_gated = link == 0 and problem.least_share[x] < 1.0
    share = share_of_accesses(problem, work, x) if is_gated else 1.0
    for i in range(problem.link_transfers[x, link]):
        t = problem.link_transfer[x, link, i]
        port, level = problem.transfer_port[t], problem.transfer_level[t]
        narrow, wide = problem.port_min[port], problem.port_max[port]
        slides, units = work.slides[x, link], problem.units[FRACTIONAL, x, level]
        whole, fresh = np.ceil(work.bits[FRACTIONAL, t] / narrow), 0.0
        if slides > 0:
            fresh = np.ceil(work.fresh_bits[FRACTIONAL, t] / narrow)
        times = work.times[FRACTIONAL, t] - slides
        if problem.counts_clipped == 1:
            words = work.narrow_words[t] * narrow / wide
        elif problem.counts_exactly == 1:
            words = (whole * times + fresh * slides) * units * narrow / wide
        else:
            # from left to right: the order decides how 6.999... is truncated
            words = whole * (narrow / wide) * times * units
            words += fresh * (narrow / wide) * slides * units
        is_exact = problem.counts_exactly == 1
        work.accesses[t] = np.ceil(words * share) if is_exact else np.trunc(words * share)


@kernel
def memory_energy(problem: FlatProblem, work: Work) -> float:
    """The energy of all transfers, in pJ.

    Formula: docs/cost-model.md#of-memories

    Reads: accesses.
    Fills: energy.
    """
    total = 0.0
    for t in range(problem.transfers):
        work.energy[t] = work.accesses[t] * problem.transfer_energy[t]
        total += work.energy[t]
    return total
