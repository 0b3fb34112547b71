"""Data transfers between levels: bits per period, and number of periods.

A transfer at memory level ``l`` towards the array or from it uses the link above level ``l - 1``,
any other uses the link above level ``l``. The link above level ``j`` transfers the data that level
``j`` holds once per period; a period lasts for the loops at or below level ``j``.

Formulas: docs/cost-model.md#transfers
"""

from nestmap.costmodel.flat_problem import FlatProblem
from nestmap.costmodel.kernel.jit import inlined, kernel
from nestmap.costmodel.kernel.record import FRACTIONAL, OUT, RD_LOW, WR_HIGH
from nestmap.costmodel.kernel.work import Work
from nestmap.costmodel.periods import (
    End,
    ask,
    count_kinds,
    divide_loops,
    first_sums,
    largest_period,
)
from nestmap.costmodel.ports import level_below
from nestmap.costmodel.reuse import IRRELEVANT

_level_below = inlined(level_below)


@kernel
def link_of(problem: FlatProblem, transfer: int) -> int:
    """The level below the link that a transfer uses."""
    level, movement = problem.transfer_level[transfer], problem.transfer_movement[transfer]
    return int(_level_below(level, movement))


@kernel
def is_backward(problem: FlatProblem, transfer: int) -> bool:
    """Whether a transfer brings partial sums back towards the array."""
    movement = problem.transfer_movement[transfer]
    return problem.transfer_operand[transfer] == OUT and movement in (RD_LOW, WR_HIGH)


@kernel
def count_first_sums(problem: FlatProblem, work: Work) -> None:
    """Periods of each link of the output whose sums were not there before; 0 if these are read too.

    A period finds its sums again where an ir loop above the link has turned, so the first ones are
    those in which no ir loop has: the product of all other loops above.

    Formula: docs/cost-model.md#first-sums

    Reads: loops, dimension, factor, stationary_cut.
    Fills: first_sums.
    """
    if problem.free_first_sum == 0:
        return
    for link in range(problem.levels[OUT]):
        first = 1.0
        for n in range(work.stationary_cut[OUT, link], work.loops):
            if problem.relevance[OUT, work.dimension[n]] != IRRELEVANT:
                first *= work.factor[n]
        work.first_sums[link] = first


@kernel
def later_periods(problem: FlatProblem, work: Work, transfer: int) -> float:
    """The periods of a transfer during computation: all but the first, or the last for outputs.

    Of the sums that come back none comes before computation, if zeros are not read.
    """
    is_later = problem.free_first_sum == 1 and is_backward(problem, transfer)
    return float(work.times[problem.views - 1, transfer] - (0.0 if is_later else 1.0))


@kernel
def stored_bits_of(problem: FlatProblem, work: Work, view: int, transfer: int) -> float:
    """Bits of an element at the memory of a transfer: of a partial sum where sums are unfinished.

    Reads: psum_above.
    Fills: nothing.
    """
    x, level = problem.transfer_operand[transfer], problem.transfer_level[transfer]
    unfinished = x == OUT and work.psum_above[view, link_of(problem, transfer)] == 1
    return float(problem.partial_bits[x, level] if unfinished else problem.element_bits[x, level])


@kernel
def has_equal_ends(problem: FlatProblem, x: int, link: int) -> bool:
    """Whether both ends of a link have the same periods: no unrolling is between its levels."""
    below, above = problem.units[FRACTIONAL, x, link], problem.units[FRACTIONAL, x, link + 1]
    return bool(below == above)


@kernel
def count_moved_words(problem: FlatProblem, work: Work) -> None:
    """Words that all periods of each transfer move where tiles are clipped; last ones may be part.

    Formula: docs/cost-model.md#kinds-of-periods

    Reads: dimension, factor, stationary_cut, slides, moved, run, psum_above.
    Fills: stored, asked_bits, asked_narrow, asked_wide, extent, tile, period, last, full,
    first_full, first_last, edge, words, first_words, least_words, least_first, sequence, largest,
    narrow_words, wide_words.
    """
    if problem.counts_clipped == 0:
        return
    for x in range(problem.operands):
        for link in range(problem.levels[x]):
            store_link_bits(problem, work, x, link)
            count_link_words(problem, work, x, link)


@kernel
def store_link_bits(problem: FlatProblem, work: Work, x: int, link: int) -> None:
    """Bits of an element of all transfers over a link, 0 of those that do not happen.

    Reads: psum_above.
    Fills: stored.
    """
    for i in range(problem.link_transfers[x, link]):
        t = problem.link_transfer[x, link, i]
        happens = not is_backward(problem, t) or work.psum_above[0, link] == 1
        work.stored[t] = stored_bits_of(problem, work, 0, t) if happens else 0.0


@kernel
def count_link_words(problem: FlatProblem, work: Work, x: int, link: int) -> None:
    """Words of all transfers over a link, for ``stored`` bits of an element.

    Reads: stored, dimension, factor, stationary_cut, slides, moved, run.
    Fills: asked_bits, asked_narrow, asked_wide, extent, tile, period, last, full, first_full,
    first_last, edge, words, first_words, least_words, least_first, sequence, largest, narrow_words,
    wide_words.
    """
    if has_equal_ends(problem, x, link):
        _count_end_words(problem, work, End(x, link, 0), True)
    else:
        _count_end_words(problem, work, End(x, link, 0), False)
        _count_end_words(problem, work, End(x, link, 1), False)


@kernel
def _count_end_words(problem: FlatProblem, work: Work, end: End, is_both: bool) -> None:
    """Words of the transfers at an end of a link, or at both."""
    asked, (x, link, is_high) = 0, end
    for i in range(problem.link_transfers[x, link]):
        t = problem.link_transfer[x, link, i]
        if is_both or (problem.transfer_level[t] > link) == (is_high == 1):
            port, each = problem.transfer_port[t], float(work.stored[t])
            ask(work, asked, each, float(problem.port_min[port]), float(problem.port_max[port]))
            work.sequence[asked] = t
            asked += 1
    if asked == 0:
        return
    repeats = divide_loops(problem, work, end)
    if is_high == 1:
        work.largest[x, link] = largest_period(problem, work, end)
    count_kinds(problem, work, end, asked)
    for i in range(asked):
        t, again = work.sequence[i], repeats
        if problem.free_first_sum == 1 and is_backward(problem, t):
            again = repeats[0] - first_sums(problem, work, end), repeats[1] - 1.0
        work.narrow_words[t] = work.words[i] * again[0]
        work.wide_words[t] = work.first_words[i] * again[1]


@kernel
def measure_transfers(problem: FlatProblem, work: Work) -> None:
    """Bits that every transfer moves in one period, and its number of periods.

    Formula: docs/cost-model.md#bits-of-a-period-and-periods

    Reads: cycles, elements, slides, fresh, psum_above, first_sums, largest.
    Fills: bits, times, fresh_bits.
    """
    for x in range(problem.operands):
        for link in range(problem.levels[x]):
            measure_link_transfers(problem, work, x, link)


@kernel
def measure_link_transfers(problem: FlatProblem, work: Work, x: int, link: int) -> None:
    """The same for the transfers over one link."""
    periods = work.cycles[x, problem.levels[x]] / work.cycles[x, link]
    is_spread = problem.counts_clipped == 1 and not has_equal_ends(problem, x, link)
    for view in range(problem.views):
        unfinished = x == OUT and work.psum_above[view, link] == 1
        for i in range(problem.link_transfers[x, link]):
            t = problem.link_transfer[x, link, i]
            level = problem.transfer_level[t]
            stored = stored_bits_of(problem, work, view, t)
            boost = problem.boost[view, x, link] if link < level else 1.0
            words = work.elements[view, x, link] * boost
            if is_spread and link < level:
                words = work.largest[x, link]
            is_back = is_backward(problem, t)
            happens = unfinished or not is_back
            again = periods - (work.first_sums[link] if is_back else 0.0)
            work.bits[view, t] = words * stored if happens else 0.0
            work.times[view, t] = again if happens else 0.0
            if work.slides[x, link] > 0:  # at most the whole tile, of which units may share words
                fresh = work.fresh[view, x, link] * boost * stored
                work.fresh_bits[view, t] = min(fresh, work.bits[view, t])
