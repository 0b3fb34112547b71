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

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from nestmap.costmodel.flat_problem import FlatProblem
from nestmap.costmodel.footprint import axis_values, distinct_values, reset_tile
from nestmap.costmodel.kernel.jit import kernel
from nestmap.costmodel.kernel.work import Work
from nestmap.costmodel.reuse import IRRELEVANT
from nestmap.costmodel.sliding import ANY, NOTHING, can_slide


class End(NamedTuple):
    """One end of the link above a level: of all instances there, or of the first one."""

    x: int
    link: int
    is_high: int  # 1 for the memory above the link, 0 for the level below
    is_first: int  # 1 for the first instance alone, which idles least


@kernel
def sum_elements(problem: FlatProblem, work: Work, end: End, each: float, width: float) -> float:
    """Words of ``width`` bits that all periods of a link move at an end; the last may be part.

    ``each`` are the bits of an element.

    Formula: docs/cost-model.md#kinds-of-periods

    Reads: dimension, factor, stationary_cut, slides, moved, run.
    Fills: extent, tile, period, last, full, edge.
    """
    repeats = divide_loops(problem, work, end)
    return sum_kinds(problem, work, end, repeats, each, width)


@kernel
def divide_loops(problem: FlatProblem, work: Work, end: End) -> float:
    """Divides each loop into periods; returns how often ir loops repeat each of them.

    A loop that ends within the first period has no full one.

    Fills: extent, tile, period, last, full.
    """
    above = problem.first_unrolled[end.x, end.link + end.is_high]
    reset_tile(problem, work)
    for n in range(work.stationary_cut[end.x, end.link]):
        work.extent[work.dimension[n]] *= work.factor[n]
    for i in range(problem.first_unrolled[end.x, end.link]):
        work.extent[problem.unrolled_dimension[end.x, i]] *= problem.unrolled_factor[0, end.x, i]
    for d in range(problem.dimensions):
        work.tile[d] = min(work.extent[d], problem.loop_size[d])
    for i in range(problem.first_unrolled[end.x, end.link], above):
        work.extent[problem.unrolled_dimension[end.x, i]] *= problem.unrolled_factor[0, end.x, i]
    repeats = 1.0
    for d in range(problem.dimensions):
        work.period[d] = work.extent[d]
        work.full[d] = np.floor(problem.loop_size[d] / work.period[d])
        work.last[d] = problem.loop_size[d] - work.full[d] * work.period[d]
    if end.is_first == 1:
        _keep_first(problem, work, end, above)
    for d in range(problem.dimensions):
        if problem.relevance[end.x, d] == IRRELEVANT:
            repeats *= work.full[d] + (1.0 if work.last[d] > 0 else 0.0)
    return repeats


@kernel
def _keep_first(problem: FlatProblem, work: Work, end: End, above: int) -> None:
    """Keeps the periods of the first instance: one in each step, the last may be clipped.

    Fills: last, full.
    """
    for d in range(problem.dimensions):
        step = _units_above(problem, end, above, d) * work.period[d]
        steps = np.ceil(problem.loop_size[d] / step)
        left = problem.loop_size[d] - (steps - 1.0) * step
        is_clipped = left < work.period[d]
        work.last[d] = left if is_clipped else 0.0
        work.full[d] = steps - (1.0 if is_clipped else 0.0)


@kernel
def _units_above(problem: FlatProblem, end: End, above: int, d: int) -> float:
    units = 1.0
    for i in range(above, problem.first_unrolled[end.x, problem.levels[end.x] + 1]):
        if problem.unrolled_dimension[end.x, i] == d:
            units *= problem.unrolled_factor[0, end.x, i]
    return units


@kernel
def first_sums(problem: FlatProblem, work: Work, end: End) -> float:
    """How often a sum crosses for the first time: once for each instance that adds to it."""
    above, first = problem.first_unrolled[end.x, end.link + end.is_high], 1.0
    if end.is_first == 1:
        return first
    for d in range(problem.dimensions):
        if problem.relevance[end.x, d] == IRRELEVANT:
            periods = work.full[d] + (1.0 if work.last[d] > 0 else 0.0)
            first *= min(periods, _units_above(problem, end, above, d))
    return first


@kernel
def sum_kinds(
    problem: FlatProblem, work: Work, end: End, repeats: float, each: float, width: float
) -> float:
    """The words of all kinds of periods, from the loops that :func:`divide_loops` has divided."""
    moved = work.moved[end.x, end.link]
    if work.slides[end.x, end.link] == 0.0:
        return repeats * _sum_edges(problem, work, end, (each, width), (NOTHING, 0, 0))
    if moved != ANY:
        words = _sum_runs(problem, work, end, (each, width), moved, work.run[end.x, end.link])
        return float(repeats * words)
    least = np.inf
    for d in range(problem.dimensions):
        periods = work.full[d] + (1.0 if work.last[d] > 0 else 0.0)
        if periods > 1.0 and can_slide(problem, end.x, end.link, d):
            least = min(least, _sum_runs(problem, work, end, (each, width), d, periods))
    return float(repeats * least)


@kernel
def _sum_runs(
    problem: FlatProblem, work: Work, end: End, unit: tuple[float, float], moved: int, run: float
) -> float:
    """The words of windows that slide along a dimension, in runs of so many periods.

    The first period of a run moves its tile, every other one what is new. All runs are equally
    long, as nothing that slides is unrolled above, so that a clipped period ends one.
    """
    has_last, total = 1.0 if work.last[moved] > 0 else 0.0, 0.0
    runs = (work.full[moved] + has_last) / run
    for is_new, is_last, count in (
        (0, 0, runs),
        (1, 0, work.full[moved] - runs),
        (1, 1, has_last),
    ):
        if count > 0:
            total += count * _sum_edges(problem, work, end, unit, (moved, is_new, is_last))
    return total


@kernel
def _sum_edges(
    problem: FlatProblem,
    work: Work,
    end: End,
    unit: tuple[float, float],
    slide: tuple[int, int, int],
) -> float:
    """The words of all kinds of periods but for those of the dimension that slides.

    ``unit``: bits of an element and of a word; ``slide``: this dimension, whether only what is new
    moves, and whether the period is its last one.
    """
    each, width = unit
    moved, is_new, is_last = slide
    edges, common, total = 0, 1.0, 0.0
    for d in range(problem.dimensions):
        work.extent[d] = work.period[d]
        if d == moved:
            work.extent[d] = work.last[d] if is_last == 1 else work.period[d]
        elif problem.relevance[end.x, d] != IRRELEVANT:
            if work.last[d] > 0:
                work.edge[edges] = d
                edges += 1
            else:
                common *= work.full[d]
    for kind in range(1 << edges):
        count = common
        for i in range(edges):
            d = work.edge[i]
            is_end = (kind >> i) & 1 == 1
            work.extent[d] = work.last[d] if is_end else work.period[d]
            count *= 1.0 if is_end else work.full[d]
        if count > 0.0:
            elements = period_elements(problem, work, end, moved if is_new == 1 else NOTHING)
            total += count * np.ceil(elements * each / width)
    return total


@kernel
def period_elements(problem: FlatProblem, work: Work, end: End, moved: int) -> float:
    """Elements that a period of ``extent`` moves: what is new if a window slides along ``moved``.

    Reads: extent, tile, period.
    Fills: nothing.
    """
    x, is_full, elements = end.x, True, 1.0
    for d in range(problem.dimensions):
        if problem.relevance[x, d] != IRRELEVANT and work.extent[d] < work.period[d]:
            is_full = False
    if end.is_high == 0 or is_full:
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
def first_period(problem: FlatProblem, work: Work, x: int, link: int) -> float:
    """Elements of the largest period for all units below a memory.

    Reads: dimension, factor, stationary_cut.
    Fills: extent, tile, period, last, full.
    """
    end = End(x, link, 1, 0)
    divide_loops(problem, work, end)
    for d in range(problem.dimensions):
        work.extent[d] = min(work.period[d], problem.loop_size[d])
    return period_elements(problem, work, end, NOTHING)


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
    below_a, below_b = 1.0, 1.0
    for i in range(problem.first_unrolled[end.x, end.link]):
        if problem.unrolled_dimension[end.x, i] == problem.pr_dimensions[q, 0]:
            below_a *= problem.unrolled_factor[0, end.x, i]
        if problem.unrolled_dimension[end.x, i] == problem.pr_dimensions[q, 1]:
            below_b *= problem.unrolled_factor[0, end.x, i]
    steps, least = problem.pr_steps[q], problem.least_overlap
    grown = distinct_values(below_a * units_a, below_b * units_b, steps[0], steps[1], least)
    return float(grown / distinct_values(below_a, below_b, steps[0], steps[1], least))
