"""Goes through all mappings that may be better than the best one known, depth first.

Latency is not a sum over boundaries, so the paths with the lowest bounds need not be the best
mappings. This search follows every path whose bound is below the incumbent, evaluates the mapping
at its end with the cost model, and lowers the incumbent. When it ends, no better mapping is left.
"""

from typing import NamedTuple

import numpy as np

from nestmap.costmodel.evaluate_rows import Columns, evaluate_row, write_costs
from nestmap.costmodel.flat_problem import FlatProblem
from nestmap.costmodel.kernel.jit import kernel
from nestmap.costmodel.kernel.record import OUT, copy_row, new_record
from nestmap.costmodel.kernel.work import Work
from nestmap.costmodel.reuse import IRRELEVANT
from nestmap.model.arrays import Codes, Floats, Ints
from nestmap.search.temporal.exact.labels import NONE, Pool, is_worth_following, new_pool, spend
from nestmap.search.temporal.exact.objective_bound import add_to_front, objective_of
from nestmap.search.temporal.exact.space import Space
from nestmap.search.temporal.exact.windows import Windows, add_late, windows_of
from nestmap.search.temporal.memory_allocation import is_even_everywhere, write_cuts
from nestmap.search.temporal.slot_candidates import Candidates

ROWS = 8192
"""Mappings that are evaluated before they are passed on."""


class Descent(NamedTuple):
    """A path from the origin, one label after the other, and the mappings found."""

    pool: Pool  # label n of the path is at place n
    point: Ints  # [n]
    crossed: Ints  # [n, x]
    finished: Ints  # [n] whether the output was finished at its last boundary
    late: Floats  # [n, port] cycles by which the transfers over the boundaries crossed are late
    windows: Windows
    choice: Ints  # [n] the next way to go on
    work: Work
    candidates: Candidates  # scratch
    orders: Codes  # [row, loop]
    cuts: Codes  # [row, x, l]
    columns: Columns


class Status(NamedTuple):
    """Where a descent stands."""

    depth: int  # place of the last label of the path, -1 at the end
    rows: int
    steps: int  # labels that may still be made
    limit: float  # of the objective


def new_descent(problem: FlatProblem, space: Space) -> Descent:
    """A descent that stands at the origin."""
    loops = int(space.lattice.depth[-1])
    most = loops + int(problem.levels[: problem.operands].sum()) + 2
    pool = new_pool(problem, space, most)
    descent = Descent(
        pool,
        np.zeros(most, np.int64),
        np.zeros((most, problem.operands), np.int64),
        np.zeros(most, np.int64),
        np.zeros((most, problem.ports)),
        windows_of(problem, new_record(Work), space.lattice),
        np.zeros(most, np.int64),
        new_record(Work),
        new_record(Candidates),
        np.empty((ROWS, loops), np.uint8),
        np.empty((ROWS, problem.operands, max(problem.levels)), np.uint8),
        Columns(np.empty(ROWS), np.empty(ROWS), np.empty(ROWS), np.empty(ROWS)),
    )
    pool.parent[0] = NONE
    pool.spent[0] = 0.0
    copy_row(pool.spent[0, len(space.resources.kind) :], space.capacity.reserved)
    return descent


@kernel
def descend(problem: FlatProblem, space: Space, descent: Descent, status: Status) -> Status:
    """Goes on until the end, the last step, or until the rows are full."""
    depth, steps, limit = status.depth, status.steps, status.limit
    even = space.rule.goal.is_even
    rows, kinds = 0, len(space.lattice.factors)
    while depth >= 0 and steps > 0 and rows < len(descent.orders):
        choice = descent.choice[depth]
        descent.choice[depth] += 1
        if choice == 0 and _is_through(problem, space, descent, depth):
            _load_path(problem, space, descent, depth, rows)
            if not even or is_even_everywhere(problem, descent.work, descent.candidates):
                limit = _evaluate(problem, space, descent, rows, limit)
                rows += 1
            depth -= 1
        elif choice == problem.operands + kinds:
            depth -= 1
        elif _go_on(problem, space, descent, (depth, choice), limit):
            depth += 1
            steps -= 1
    return Status(depth, rows, steps, limit)


@kernel
def _is_through(problem: FlatProblem, space: Space, descent: Descent, depth: int) -> bool:
    if descent.point[depth] < len(space.lattice.depth) - 1:
        return False
    left = 0
    for x in range(problem.operands):
        left += problem.levels[x] - descent.crossed[depth, x]
    return bool(left == 0)


@kernel
def _go_on(
    problem: FlatProblem, space: Space, descent: Descent, at: tuple[int, int], limit: float
) -> bool:
    """Makes the next label of the path; false if the choice is not worth following."""
    depth, choice = at
    pool, p, x = descent.pool, descent.point[depth], choice
    finished = descent.finished[depth]
    copy_row(pool.crossed, descent.crossed[depth])
    if choice < problem.operands:
        if not _may_cross(problem, space, descent, depth, x):
            return False
        if not spend(problem, space, pool, depth, (x, finished, p)):
            return False
        pool.crossed[x] += 1
        finished = int(space.capacity.finished[p]) if x == OUT else finished
        move = -1 - x
        _add_late(problem, space, descent, depth, x)
    else:
        move = choice - problem.operands
        p = space.lattice.step[p, move]
        if p < 0:
            return False
        if not (space.rule.goal.is_even or _is_canonical(problem, space, descent, depth, move)):
            return False
        copy_row(pool.made, pool.spent[depth])
        copy_row(descent.late[depth + 1], descent.late[depth])
    late = float(descent.late[depth + 1].max())
    if not is_worth_following(problem, space, pool, (p, late), limit):
        return False
    pool.spent[depth + 1] = pool.made
    pool.parent[depth + 1], pool.move[depth + 1] = depth, move
    descent.point[depth + 1], descent.finished[depth + 1] = p, finished
    copy_row(descent.crossed[depth + 1], pool.crossed)
    descent.choice[depth + 1] = 0
    return True


@kernel
def _add_late(problem: FlatProblem, space: Space, descent: Descent, depth: int, x: int) -> None:
    """How late transfers are once an operand has crossed its next boundary here.

    Unknown for even mappings: loops that leave the data in place may follow.
    """
    level, stays, at = descent.crossed[depth, x], 1.0, depth
    late = descent.late[depth + 1]
    copy_row(late, descent.late[depth])
    if space.rule.goal.is_even:
        return
    while at > 0:
        move = descent.pool.move[at]
        if move < 0 and level > 1 and x == -1 - move:
            break
        if move >= 0:
            if problem.relevance[x, space.lattice.factors[move, 0]] != IRRELEVANT:
                break
            stays *= space.lattice.factors[move, 1]
        at -= 1
    add_late(problem, descent.windows, (x, level, descent.point[depth]), stays, late)


@kernel
def _may_cross(problem: FlatProblem, space: Space, descent: Descent, depth: int, x: int) -> bool:
    """Whether an operand may cross its next boundary here.

    Boundaries at one point are crossed operand by operand: other sequences are equal.
    """
    move = descent.pool.move[depth]
    if descent.crossed[depth, x] == problem.levels[x]:
        return False
    if depth > 0 and move < 0 and x < -1 - move:
        return False
    return not space.rule.goal.is_even or _is_even(problem, space, descent, depth, x)


@kernel
def _is_canonical(problem: FlatProblem, space: Space, descent: Descent, depth: int, f: int) -> bool:
    """Whether no operand that crossed a boundary here keeps its data while this factor runs.

    Its boundary above the factor is the same mapping.
    """
    dimension, at = space.lattice.factors[f, 0], depth
    while at > 0 and descent.pool.move[at] < 0:
        x = -1 - descent.pool.move[at]
        is_first = descent.crossed[depth, x] == 1
        stays = not is_first or (x != OUT and problem.holds_inputs == 1)
        if stays and problem.relevance[x, dimension] == IRRELEVANT:
            return False
        at -= 1
    return True


@kernel
def _is_even(problem: FlatProblem, space: Space, descent: Descent, depth: int, x: int) -> bool:
    """Whether the next cut of an operand may end here, as far as its memory is cut already.

    A level that adds loops ends where the first level of its memory has ended.
    """
    level = descent.crossed[depth, x]
    if level == 0:
        return True
    here = space.lattice.depth[descent.point[depth]]
    memory, below, first = problem.memory[x, level], 0, here
    for at in range(depth, 0, -1):
        if descent.pool.move[at] < 0:
            y = -1 - descent.pool.move[at]
            cut = descent.crossed[at, y] - 1
            place = space.lattice.depth[descent.point[at]]
            if y == x:
                below = max(below, place)
            if cut > 0 and problem.memory[y, cut] == memory:
                first = place
    return bool(here in (below, first))


@kernel
def _load_path(problem: FlatProblem, space: Space, descent: Descent, depth: int, row: int) -> None:
    """Writes the mapping at the end of the path to the work arrays, and its order to a row."""
    work, lattice = descent.work, space.lattice
    work.loops = 0
    for at in range(1, depth + 1):
        move = descent.pool.move[at]
        if move >= 0:
            descent.orders[row, work.loops] = move
            work.dimension[work.loops] = lattice.factors[move, 0]
            work.factor[work.loops] = lattice.factors[move, 1]
            work.loops += 1
        else:
            x = -1 - move
            work.cut[x, descent.crossed[at, x] - 1] = work.loops
    for x in range(problem.operands):
        work.cut[x, problem.levels[x]] = work.loops


@kernel
def _evaluate(
    problem: FlatProblem, space: Space, descent: Descent, row: int, limit: float
) -> float:
    """Evaluates the mapping in the work arrays; returns the lower of limit and objective."""
    work = descent.work
    write_cuts(problem, work, descent.cuts, row)
    write_costs(problem, evaluate_row(problem, work), descent.columns, row)
    energy, latency = descent.columns.energy[row], descent.columns.latency2[row]
    goal = space.rule.goal
    if goal.is_front:
        add_to_front(goal, energy, latency)
        return limit
    return min(limit, objective_of(goal, energy, latency))
