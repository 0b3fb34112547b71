"""Window reuse: memories that load only what slides in when a loop moves a window of the inputs.

A period of a link slides if its tile is the one before, moved along one axis. Let ``c`` be the
place of the innermost loop above level ``l`` that does not leave the level's data in place, over a
dimension ``d`` that makes an affine index ``s * i + t * j`` with another one. The contiguous loops
over ``d`` from ``c`` on are the run, of ``F`` iterations. The first period of each run loads the
tile of ``E`` elements, every other one only what the tile before does not hold. With the level's
extents ``a`` and ``b`` of the two dimensions, ``D`` the values of an affine index (at most its
length) and ``T / P`` periods::

    new = E * (D(2 a, b) - D(a, b)) / D(a, b)      (2 b instead, if d is the second dimension)
    elements loaded = T / P * (E + (F - 1) * new) / F

Before each run the level forgets: a tile that jumps is loaded whole, even where it overlaps. There
are no slides where ``d`` is unrolled over instances of the level: neighbors hold the next outputs,
so that a step moves an instance further than by its tile.

Formula: docs/cost-model.md#windows-that-slide
"""

import numpy as np

from nestmap.costmodel.flat_problem import FlatProblem
from nestmap.costmodel.footprint import axis_elements
from nestmap.costmodel.kernel.jit import kernel
from nestmap.costmodel.kernel.work import Work
from nestmap.costmodel.reuse import PARTIALLY_RELEVANT

NOTHING, ANY = -1, -2
"""Instead of a dimension: no loop moves windows, or whichever moves the least."""


@kernel
def measure_slides(problem: FlatProblem, work: Work) -> None:
    """Periods of each link that load only what slides in, and the elements that these load.

    Formula: docs/cost-model.md#windows-that-slide

    Reads: loops, dimension, factor, stationary_cut, cycles, elements, level_extent.
    Fills: slides, fresh, moved, run, extent.
    """
    for x in range(1, problem.operands):
        for link in range(1, problem.levels[x]):
            if problem.reuses_windows[problem.memory[x, link]] == 0:
                continue
            at, run = int(work.stationary_cut[x, link]), 1.0
            moved = int(work.dimension[at]) if at < work.loops else -1
            if moved >= 0 and can_slide(problem, x, link, moved):
                while at < work.loops and work.dimension[at] == moved:
                    run *= float(work.factor[at])
                    at += 1
            put_slides(problem, work, (x, link), moved, run)


@kernel
def bound_slides(problem: FlatProblem, work: Work, x: int) -> None:
    """The most slides of each link of an input, and the fewest new elements.

    In any order of the loops above: all loops over one dimension may follow each other there,
    whatever comes first.

    Reads: loops, dimension, factor, stationary_cut, cycles, elements, level_extent.
    Fills: slides, fresh, moved, run, extent.
    """
    for link in range(1, problem.levels[x]):
        if problem.reuses_windows[problem.memory[x, link]] == 1:
            _bound_slides_of(problem, work, (x, link))


@kernel
def _bound_slides_of(problem: FlatProblem, work: Work, place: tuple[int, int]) -> None:
    slides, fresh = 0.0, np.full(problem.views, np.inf)
    for d in range(problem.dimensions):
        run = 1.0
        for n in range(work.stationary_cut[place], work.loops):
            run *= work.factor[n] if work.dimension[n] == d else 1.0
        if run > 1.0 and can_slide(problem, place[0], place[1], d):
            put_slides(problem, work, place, d, run)
            slides = max(slides, work.slides[place])
            for view in range(problem.views):
                fresh[view] = min(fresh[view], work.fresh[view, place[0], place[1]])
    work.slides[place], work.moved[place] = slides, ANY
    for view in range(problem.views):
        work.fresh[view, place[0], place[1]] = fresh[view]


@kernel
def can_slide(problem: FlatProblem, x: int, link: int, dimension: int) -> bool:
    """Whether a loop over a dimension moves the tile of a level over elements that it holds."""
    if problem.relevance[x, dimension] != PARTIALLY_RELEVANT:
        return False
    first, last = problem.first_unrolled[x, link], problem.first_unrolled[x, problem.levels[x] + 1]
    for i in range(first, last):
        if problem.unrolled_dimension[x, i] == dimension and (
            problem.unrolled_factor[0, x, i] > 1.0
        ):
            return False
    return True


@kernel
def put_slides(
    problem: FlatProblem, work: Work, place: tuple[int, int], moved: int, run: float
) -> None:
    """Writes the slides of a link (``place``: operand and link) in runs of so many periods.

    A run of one period has no slides.
    """
    periods = work.cycles[place[0], problem.levels[place[0]]] / work.cycles[place]
    slides = periods - periods / run
    work.slides[place], work.moved[place], work.run[place] = slides, moved, run
    for view in range(problem.views):
        fresh = work.elements[view, place[0], place[1]]
        if slides > 0:
            fresh = new_elements(problem, work, view, place, moved)
        work.fresh[view, place[0], place[1]] = fresh


@kernel
def new_elements(
    problem: FlatProblem, work: Work, view: int, place: tuple[int, int], moved: int
) -> float:
    """Elements of a tile that the previous tile, one step of ``moved`` back, does not contain."""
    x, link = place
    index = problem.pr_index[x, moved]
    for i in range(2):
        work.extent[problem.pr_dimensions[index, i]] = work.level_extent[view, link, index, i]
    before = axis_elements(problem, work, index)
    work.extent[moved] *= 2.0
    grown = axis_elements(problem, work, index) - before
    elements = work.elements[view, x, link]
    return float(min(elements, np.ceil(elements * grown / before)))
