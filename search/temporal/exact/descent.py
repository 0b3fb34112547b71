"""Goes through all mappings that may be better than the best one known, depth first.

Latency is not a sum over boundaries, so the paths with the lowest bounds need not be the best
mappings. This search follows every path whose bound is below the incumbent, evaluates the mapping
at its end with the cost model, and lowers the incumbent. When it ends, no better mapping is left.
"""

from typing import NamedTuple

import numpy as np

from nestmap.costmodel.evaluate_rows import Columns, evaluate_row, load_row, write_costs
from nestmap.costmodel.flat_problem import FlatProblem
from nestmap.costmodel.kernel.jit import kernel
from nestmap.costmodel.kernel.record import OUT, copy_row, new_record
from nestmap.costmodel.kernel.work import Work
from nestmap.costmodel.reuse import IRRELEVANT
from nestmap.model.arrays import Codes, Floats, Ints
from nestmap.search.temporal.exact.labels import (
    NO_ROOM,
    NONE,
    Pool,
    close,
    cross,
    is_worth_following,
    last_to_cross,
    moves_ended,
    new_pool,
    put_mapping,
)
from nestmap.search.temporal.exact.objective_bound import add_to_front, objective_of
from nestmap.search.temporal.exact.shared_memories import count_ended
from nestmap.search.temporal.exact.space import Space
from nestmap.search.temporal.exact.windows import Windows, add_late, windows_of

ROWS = 8192
"""Mappings that are evaluated before they are passed on."""


class Descent(NamedTuple):
    """A path from the origin, one label after the other, and the mappings found."""

    pool: Pool  # label n of the path is at place n
    point: Ints  # [n]
    crossed: Ints  # [n, x]
    finished: Ints  # [n] whether the output was finished at its last level that ended
    closed: Ints  # [n] the set of shared memories that are closed
    late: Floats  # [n, port] cycles by which the transfers over the boundaries crossed are late
    windows: Windows
    choice: Ints  # [n] the next way to go on
    work: Work
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
    shared = len(space.shared.memory)
    most = loops + int(problem.levels[: problem.operands].sum()) + shared + 2
    pool = new_pool(problem, space, most)
    descent = Descent(
        pool,
        np.zeros(most, np.int64),
        np.zeros((most, problem.operands), np.int64),
        np.zeros(most, np.int64),
        np.zeros(most, np.int64),
        np.zeros((most, problem.ports)),
        windows_of(problem, new_record(Work), space.lattice),
        np.zeros(most, np.int64),
        new_record(Work),
        np.empty((ROWS, loops), np.uint8),
        np.empty((ROWS, problem.operands, max(problem.levels)), np.uint8),
        Columns(np.empty(ROWS), np.empty(ROWS), np.empty(ROWS), np.empty(ROWS)),
    )
    pool.parent[0], descent.finished[0] = NONE, space.capacity.finished[0]
    pool.spent[0] = 0.0
    copy_row(pool.spent[0, len(space.resources.kind) :], space.capacity.reserved)
    return descent


@kernel
def descend(problem: FlatProblem, space: Space, descent: Descent, status: Status) -> Status:
    """Goes on until the end, the last step, or until the rows are full."""
    depth, steps, limit = status.depth, status.steps, status.limit
    rows = 0
    moves = problem.operands + len(space.shared.memory) + len(space.lattice.factors)
    while depth >= 0 and steps > 0 and rows < len(descent.orders):
        choice = descent.choice[depth]
        descent.choice[depth] += 1
        if choice == 0 and _is_through(problem, space, descent, depth):
            limit = _evaluate(problem, space, descent, (depth, rows), limit)
            rows += 1
            depth -= 1
        elif choice == moves:
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
    """Crosses a boundary, closes a memory or adds a factor; false if it is not worth following."""
    depth, choice = at
    pool, p, closed = descent.pool, descent.point[depth], descent.closed[depth]
    here, move = (p, descent.finished[depth], closed), -1 - choice
    i = choice - problem.operands
    # each call passes all arrays of its tuples by value, so there are few on the way to a refusal
    copy_row(pool.crossed, descent.crossed[depth])
    if len(space.shared.memory) > 0:
        count_ended(problem, space.shared, closed, pool.crossed, pool.ended)
    if i < 0:
        finished, is_open = NO_ROOM, pool.crossed[choice] < problem.levels[choice]
        if is_open and choice >= last_to_cross(problem, pool.parent, pool.move, depth):
            finished = cross(problem, space, pool, (depth, choice), here)
        pool.crossed[choice] += 1
    elif i < len(space.shared.memory):
        finished, closed = close(problem, space, pool, (depth, i), here), closed | 1 << i
    else:
        move, finished = i - len(space.shared.memory), here[1]
        p = space.lattice.step[p, move]
        if p < 0 or (closed != 0 and moves_ended(problem, space.lattice, pool, move)):
            return False
        if not _is_canonical(problem, space, descent, depth, move):
            return False
        copy_row(pool.made, pool.spent[depth])
    if finished == NO_ROOM:
        return False
    copy_row(descent.late[depth + 1], descent.late[depth])
    if i < 0:
        _add_late(problem, space, descent, depth, choice)
    if not is_worth_following(problem, space, pool, (p, descent.late[depth + 1].max()), limit):
        return False
    pool.spent[depth + 1] = pool.made
    pool.parent[depth + 1], pool.move[depth + 1] = depth, move
    descent.point[depth + 1], descent.finished[depth + 1] = p, finished
    descent.closed[depth + 1], descent.choice[depth + 1] = closed, 0
    copy_row(descent.crossed[depth + 1], pool.crossed)
    return True


@kernel
def _add_late(problem: FlatProblem, space: Space, descent: Descent, depth: int, x: int) -> None:
    """How late transfers are once an operand has crossed its next boundary here."""
    level, stays, at = descent.crossed[depth, x], 1.0, depth
    late = descent.late[depth + 1]
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
def _is_canonical(problem: FlatProblem, space: Space, descent: Descent, depth: int, f: int) -> bool:
    """Whether no operand that crossed a boundary here keeps its data while this factor runs.

    Its boundary above the factor is the same mapping.
    """
    dimension, at = space.lattice.factors[f, 0], depth
    while at > 0 and descent.pool.move[at] < 0:
        x = -1 - descent.pool.move[at]
        if x >= problem.operands:
            at -= 1
            continue
        is_first = descent.crossed[depth, x] == 1
        stays = not is_first or (x != OUT and problem.holds_inputs == 1)
        if stays and problem.relevance[x, dimension] == IRRELEVANT:
            return False
        at -= 1
    return True


@kernel
def _evaluate(
    problem: FlatProblem, space: Space, descent: Descent, at: tuple[int, int], limit: float
) -> float:
    """Evaluates the mapping at the end of the path; returns the lower of limit and objective.

    ``at``: the last label, and the row to fill.
    """
    depth, row = at
    order, cuts, goal = descent.orders[row], descent.cuts[row], space.rule.goal
    put_mapping(problem, space, descent.pool, depth, order, cuts)
    load_row(descent.work, space.lattice.factors, order, cuts)
    write_costs(problem, evaluate_row(problem, descent.work), descent.columns, row)
    energy, latency = descent.columns.energy[row], descent.columns.latency2[row]
    if goal.is_front:
        add_to_front(goal, energy, latency)
        return limit
    return min(limit, objective_of(goal, energy, latency))
