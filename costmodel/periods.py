"""Exact counting: the periods of a link whose tiles end where their loops do.

A loop of ``N`` iterations in tiles of ``a`` has ``floor(N / a)`` full tiles and one that is clipped
to the rest. So the periods of a link come in kinds: in each dimension a tile is full or the last
one. All periods of a kind move equally many elements, and counts are whole numbers, whatever the
order of loops. Beyond its tile a dimension goes to units first, then to time: units at its end
idle.

What units share crosses a link once. Units with the same position along an affine index share their
tile; where one of them has a clipped tile, the largest one moves.

Formula: docs/cost-model.md#kinds-of-periods
"""

from typing import NamedTuple

import numpy as np

from nestmap.costmodel.flat_problem import FlatProblem
from nestmap.costmodel.footprint import axis_values, distinct_values, reset_tile
from nestmap.costmodel.kernel.jit import kernel
from nestmap.costmodel.kernel.work import Work
from nestmap.costmodel.reuse import IRRELEVANT
from nestmap.costmodel.sliding import ANY, NOTHING, can_slide


class End(NamedTuple):
    """One end of the link above a level."""

    x: int
    link: int
    is_high: int  # 1 for the memory above the link, 0 for the level below


@kernel
def ask(work: Work, place: int, each: float, narrow: float, wide: float) -> None:
    """Asks :func:`count_kinds` for words of two widths of a transfer of ``each`` bit an element.

    Fills: asked_bits, asked_narrow, asked_wide.
    """
    work.asked_bits[place] = each
    work.asked_narrow[place] = narrow
    work.asked_wide[place] = wide


@kernel
def sum_words(
    problem: FlatProblem, work: Work, end: End, each: float, narrow: float, wide: float
) -> tuple[float, float]:
    """Narrow words that all instances move at an end, and wide words of the first instance.

    Reads: dimension, factor, stationary_cut, slides, moved, run.
    Fills: asked_bits, asked_narrow, asked_wide, extent, tile, period, last, full, first_full,
    first_last, edge, words, first_words, least_words, least_first.
    """
    ask(work, 0, each, narrow, wide)
    repeats = divide_loops(problem, work, end)
    count_kinds(problem, work, end, 1)
    return float(work.words[0] * repeats[0]), float(work.first_words[0] * repeats[1])


@kernel
def divide_loops(problem: FlatProblem, work: Work, end: End) -> tuple[float, float]:
    """Divides each loop into periods: of all instances, and of the first, which idles least.

    Of the first instance the steps of the loops above count, the last of which may be clipped. A
    loop that ends within the first period has no full one. Returns how often ir loops repeat each
    period, in all instances and in the first.

    Reads: dimension, factor, stationary_cut.
    Fills: extent, tile, period, last, full, first_full, first_last.
    """
    x, link = end.x, end.link
    reset_tile(problem, work)
    for n in range(work.stationary_cut[x, link]):
        work.extent[work.dimension[n]] *= work.factor[n]
    repeats, steps = 1.0, 1.0
    for d in range(problem.dimensions):
        size, below = problem.loop_size[d], problem.unrolled_below[x, link + end.is_high, d]
        period = work.extent[d] * below
        full = np.floor(size / period)
        last = size - full * period
        work.tile[d] = min(work.extent[d] * problem.unrolled_below[x, link, d], size)
        work.period[d], work.full[d], work.last[d] = period, full, last
        step = work.extent[d] * problem.unrolled_below[x, problem.levels[x] + 1, d]
        has_last = 1.0 if last > 0.0 else 0.0
        most = full + has_last
        if step > period:
            most = np.ceil(size / step)
            has_last = 1.0 if size - (most - 1.0) * step < period else 0.0
        work.first_full[d], work.first_last[d] = most - has_last, has_last
        if problem.relevance[x, d] == IRRELEVANT:
            repeats *= full + (1.0 if last > 0.0 else 0.0)
            steps *= most
    return float(repeats), float(steps)


@kernel
def first_sums(problem: FlatProblem, work: Work, end: End) -> float:
    """How often a sum crosses for the first time: once for each instance that adds to it.

    Reads: last, full.
    Fills: nothing.
    """
    x, first = end.x, 1.0
    for d in range(problem.dimensions):
        if problem.relevance[x, d] == IRRELEVANT:
            below = problem.unrolled_below[x, end.link + end.is_high, d]
            units = problem.unrolled_below[x, problem.levels[x] + 1, d] / below
            first *= min(work.full[d] + (1.0 if work.last[d] > 0 else 0.0), units)
    return first


@kernel
def count_kinds(problem: FlatProblem, work: Work, end: End, asked: int) -> None:
    """The words of all kinds of periods, from the loops that :func:`divide_loops` has divided.

    Reads: asked_bits, asked_narrow, asked_wide, slides, moved, run, tile, period, last, full,
    first_full, first_last.
    Fills: extent, edge, words, first_words, least_words, least_first.
    """
    moved = work.moved[end.x, end.link]
    if work.slides[end.x, end.link] == 0.0:
        _reset_words(work, asked)
        _add_edges(problem, work, end, asked, (NOTHING, 0, 0), (1.0, 1.0))
    elif moved != ANY:
        _sum_runs(problem, work, end, asked, moved, work.run[end.x, end.link])
    else:
        _least_runs(problem, work, end, asked)


@kernel
def _reset_words(work: Work, asked: int) -> None:
    for i in range(asked):
        work.words[i] = work.first_words[i] = 0.0


@kernel
def _least_runs(problem: FlatProblem, work: Work, end: End, asked: int) -> None:
    """The fewest words with windows that slide along any dimension."""
    for i in range(asked):
        work.least_words[i] = work.least_first[i] = np.inf
    for d in range(problem.dimensions):
        periods = work.full[d] + (1.0 if work.last[d] > 0 else 0.0)
        if periods > 1.0 and can_slide(problem, end.x, end.link, d):
            _sum_runs(problem, work, end, asked, d, periods)
            for i in range(asked):
                work.least_words[i] = min(work.least_words[i], work.words[i])
                work.least_first[i] = min(work.least_first[i], work.first_words[i])
    for i in range(asked):
        work.words[i], work.first_words[i] = work.least_words[i], work.least_first[i]


@kernel
def _sum_runs(
    problem: FlatProblem, work: Work, end: End, asked: int, moved: int, run: float
) -> None:
    """The words of windows that slide along a dimension, in runs of so many periods.

    The first period of a run moves its tile, every other one what is new. All runs are equally
    long, as nothing that slides is unrolled above, so that a clipped period ends one and the first
    instance has all of them.
    """
    _reset_words(work, asked)
    has_last = 1.0 if work.last[moved] > 0 else 0.0
    runs = (work.full[moved] + has_last) / run
    for is_new, is_last, count in ((0, 0, runs), (1, 0, work.full[moved] - runs), (1, 1, has_last)):
        if count > 0:
            _add_edges(problem, work, end, asked, (moved, is_new, is_last), (count, count))


@kernel
def _add_edges(
    problem: FlatProblem,
    work: Work,
    end: End,
    asked: int,
    slide: tuple[int, int, int],
    counts: tuple[float, float],
) -> None:
    """Adds the words of all kinds of periods but for those of the dimension that slides.

    ``slide``: this dimension, whether only what is new moves, and whether the period is its last
    one; ``counts``: how many of these there are, in all instances and in the first.
    """
    moved, is_new, is_last = slide
    (every, first), edges, is_whole = counts, 0, is_last == 0
    for d in range(problem.dimensions):
        work.extent[d] = work.period[d]
        if d == moved:
            work.extent[d] = work.last[d] if is_last == 1 else work.period[d]
        elif problem.relevance[end.x, d] != IRRELEVANT:
            if work.full[d] == 0.0:
                work.extent[d], is_whole = work.last[d], False
            elif work.last[d] > 0:
                work.edge[edges] = d
                edges += 1
            else:
                every *= work.full[d]
                first *= work.first_full[d]
    for kind in range(1 << edges):
        in_all, in_first = every, first
        for i in range(edges):
            d = work.edge[i]
            is_end = (kind >> i) & 1 == 1
            work.extent[d] = work.last[d] if is_end else work.period[d]
            in_all *= 1.0 if is_end else work.full[d]
            in_first *= work.first_last[d] if is_end else work.first_full[d]
        along = moved if is_new == 1 else NOTHING
        elements = _period_elements(problem, work, end, along, is_whole and kind == 0)
        for i in range(asked):
            bits = elements * work.asked_bits[i]
            work.words[i] += in_all * np.ceil(bits / work.asked_narrow[i])
            work.first_words[i] += in_first * np.ceil(bits / work.asked_wide[i])


@kernel
def _period_elements(
    problem: FlatProblem, work: Work, end: End, moved: int, is_whole: bool
) -> float:
    """Elements that a period of ``extent`` moves: what is new if a window slides along ``moved``.

    ``is_whole``: no relevant loop ends within it.
    """
    x, elements = end.x, 1.0
    if end.is_high == 0 or is_whole:
        tile = work.tile if end.is_high == 1 else work.extent
        for i in range(problem.first_r[x], problem.first_r[x + 1]):
            elements *= tile[problem.r_dimension[i]]
        for q in range(problem.first_pr[x], problem.first_pr[x + 1]):
            a, b = problem.pr_dimensions[q, 0], problem.pr_dimensions[q, 1]
            elements *= _tile_values(problem, work, q, float(tile[a]), float(tile[b]), moved)
        return float(elements * (problem.boost[0, x, end.link] if end.is_high == 1 else 1.0))
    for i in range(problem.first_r[x], problem.first_r[x + 1]):
        elements *= work.extent[problem.r_dimension[i]]
    for q in range(problem.first_pr[x], problem.first_pr[x + 1]):
        elements *= _shared_values(problem, work, end, q, moved)
    return float(np.rint(elements))


@kernel
def largest_period(problem: FlatProblem, work: Work, end: End) -> float:
    """Elements of the largest period at an end, from the loops that :func:`divide_loops` divided.

    Reads: tile, period.
    Fills: extent.
    """
    is_whole = True
    for d in range(problem.dimensions):
        work.extent[d] = min(work.period[d], problem.loop_size[d])
        if problem.relevance[end.x, d] != IRRELEVANT and work.extent[d] < work.period[d]:
            is_whole = False
    return _period_elements(problem, work, end, NOTHING, is_whole)


@kernel
def _tile_values(problem: FlatProblem, work: Work, q: int, a: float, b: float, moved: int) -> float:
    """Elements of a tile along a pr index; what is new if it slides along one of its dimensions."""
    if moved == problem.pr_dimensions[q, 0]:
        before = work.tile[moved]
        return axis_values(problem, q, before + a, b) - axis_values(problem, q, before, b)
    if moved == problem.pr_dimensions[q, 1]:
        before = work.tile[moved]
        return axis_values(problem, q, a, before + b) - axis_values(problem, q, a, before)
    return axis_values(problem, q, a, b)


@kernel
def _shared_values(problem: FlatProblem, work: Work, end: End, q: int, moved: int) -> float:
    """Elements along a pr index that cross the link for all units: each position's largest tile.

    ``k`` units have full tiles along each dimension, and one more a clipped tile where iterations
    are left. The position of the last unit of both is nobody else's.
    """
    a, b = problem.pr_dimensions[q, 0], problem.pr_dimensions[q, 1]
    tile_a, tile_b = float(work.tile[a]), float(work.tile[b])
    units_a = float(np.floor(work.extent[a] / tile_a))
    units_b = float(np.floor(work.extent[b] / tile_b))
    left_a = float(work.extent[a] - units_a * tile_a)
    left_b = float(work.extent[b] - units_b * tile_b)
    more_a, more_b = (1.0 if left_a > 0 else 0.0), (1.0 if left_b > 0 else 0.0)
    full = _positions(problem, end, q, units_a, units_b)
    total = full * _tile_values(problem, work, q, tile_a, tile_b, moved)
    of_a = _tile_values(problem, work, q, left_a, tile_b, moved) if left_a > 0 else 0.0
    of_b = _tile_values(problem, work, q, tile_a, left_b, moved) if left_b > 0 else 0.0
    new_a = _positions(problem, end, q, units_a + more_a, units_b) - full
    new_b = _positions(problem, end, q, units_a, units_b + more_b) - full
    both = 0.0
    if left_a > 0 and left_b > 0:
        every = _positions(problem, end, q, units_a + 1.0, units_b + 1.0)
        both = new_a + new_b + full + 1.0 - every
        total += _tile_values(problem, work, q, left_a, left_b, moved)
    return total + (new_a - both) * of_a + (new_b - both) * of_b + both * max(of_a, of_b)


@kernel
def _positions(problem: FlatProblem, end: End, q: int, units_a: float, units_b: float) -> float:
    """Different positions along a pr index of so many units, by how much they grow an axis."""
    if units_a == 0.0 or units_b == 0.0:
        return 0.0
    below_a = problem.unrolled_below[end.x, end.link, problem.pr_dimensions[q, 0]]
    below_b = problem.unrolled_below[end.x, end.link, problem.pr_dimensions[q, 1]]
    steps, least = problem.pr_steps[q], problem.least_overlap
    grown = distinct_values(below_a * units_a, below_b * units_b, steps[0], steps[1], least)
    return float(grown / distinct_values(below_a, below_b, steps[0], steps[1], least))
