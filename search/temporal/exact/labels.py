"""Paths through the lattice that may still be the best: labels, dominance and a bound.

A label is a partial path: the point reached, how many boundaries each operand has crossed, and
what has been spent of each resource and taken in each tight memory. A label that cannot be
completed to a better mapping than the incumbent is dropped, and so is one that has spent and taken
no less than another with the same boundaries crossed at the same point. What is left over bounds
all mappings, and as energy is a sum of what boundaries spend, it includes one of least energy.
"""

from typing import NamedTuple

import numpy as np

from nestmap.costmodel.flat_problem import FlatProblem
from nestmap.costmodel.kernel.jit import kernel
from nestmap.costmodel.kernel.record import OUT, copy_row
from nestmap.model.arrays import Floats, Ints
from nestmap.search.temporal.exact.capacity import bits_at, forget, take
from nestmap.search.temporal.exact.objective_bound import costs_of, is_worth
from nestmap.search.temporal.exact.space import Space

NONE = -1


class Pool(NamedTuple):
    """Labels, in the order in which they are made."""

    spent: Floats  # [n, k + tight memories] of each resource, and bits taken
    parent: Ints  # [n]
    move: Ints  # [n] the factor added, or -1 - x for a boundary of operand x
    after: Ints  # [n] the next label of the same list
    head: Ints  # [p, s] the first label of each list
    crossed: Ints  # scratch [x]
    total: Floats  # scratch [k]
    made: Floats  # scratch [k + tight memories]
    compared: Ints  # columns of ``spent`` that dominance compares


class Outcome(NamedTuple):
    """The end of a search; paths that are left over are the list of the last point and state."""

    labels: int  # how many were made
    is_complete: bool  # false if the pool was full


@kernel
def new_pool(problem: FlatProblem, space: Space, labels: int) -> Pool:
    """An empty pool."""
    resources = len(space.resources.kind)
    width = resources + len(space.capacity.reserved)
    compared = space.resources.compared
    order = np.arange(compared + width - resources)
    for n in range(compared, len(order)):
        order[n] += resources - compared
    return Pool(
        np.empty((labels, width)),
        np.empty(labels, np.int64),
        np.empty(labels, np.int64),
        np.empty(labels, np.int64),
        np.empty((len(space.lattice.depth), count_states(problem)), np.int64),
        np.zeros(problem.operands, np.int64),
        np.zeros(resources),
        np.zeros(width),
        order,
    )


def leftover(pool: Pool) -> list[int]:
    """The labels at the corner: paths that may be better than the incumbent."""
    found: list[int] = []
    states = pool.head.shape[1]
    for state in (states - 2, states - 1):
        label = int(pool.head[-1, state])
        while label != NONE:
            found.append(label)
            label = int(pool.after[label])
    return sorted(found)


@kernel
def limits_between(bound: float, most: float) -> Floats:
    """Limits from a bound up to the incumbent, or to infinity without one.

    A low limit takes few labels, and suffices if the optimum is low.
    """
    if most < np.inf:
        return bound + (most - bound) * np.array((1 / 16, 1 / 4, 1.0))
    limits = bound * (1 + np.array((0.01, 0.04, 0.16, 0.64, 2.56, 0.0)))
    limits[len(limits) - 1] = np.inf  # also if the bound is 0
    return limits


@kernel
def find_paths(problem: FlatProblem, space: Space, pool: Pool, limit: float) -> Outcome:
    """Fills the pool with the paths that may have an objective below the limit."""
    resources = len(space.resources.kind)
    pool.head[:] = NONE
    pool.head[0, 0] = 0
    pool.parent[0], pool.move[0], pool.after[0] = NONE, 0, NONE
    pool.spent[0, :resources] = 0.0
    copy_row(pool.spent[0, resources:], space.capacity.reserved)
    used, kinds = 1, len(space.lattice.factors)
    for p in range(len(space.lattice.depth)):
        for s in range(pool.head.shape[1]):
            n = int(pool.head[p, s])
            while n != NONE:
                if used + problem.operands + kinds > len(pool.parent):
                    return Outcome(used, False)
                finished = decode(problem, s, pool.crossed)
                used = _cross_each(problem, space, pool, (n, used, p, finished), limit)
                used = _add_each(problem, space, pool, (n, used, p, s), limit)
                n = int(pool.after[n])
    return Outcome(used, True)


@kernel
def _cross_each(
    problem: FlatProblem, space: Space, pool: Pool, at: tuple[int, int, int, int], limit: float
) -> int:
    """Lets each operand cross its next boundary; returns the number of labels.

    Boundaries at one point are crossed operand by operand: other sequences are equal.
    """
    n, used, p, finished = at
    last = -1 - pool.move[n] if pool.parent[n] != NONE and pool.move[n] < 0 else 0
    for x in range(last, problem.operands):
        if pool.crossed[x] == problem.levels[x]:
            continue
        if spend(problem, space, pool, n, (x, finished, p)):
            pool.crossed[x] += 1
            after = int(space.capacity.finished[p]) if x == OUT else finished
            if is_worth_following(problem, space, pool, (p, 0.0), limit):
                taken = pool.made[len(space.resources.kind) :]
                forget(problem, space.capacity.tight, pool.crossed, taken)
                s = encode(problem, pool.crossed, after)
                used = _add(pool, (p, s), used, (n, -1 - x))
            pool.crossed[x] -= 1
    return used


@kernel
def spend(
    problem: FlatProblem, space: Space, pool: Pool, n: int, place: tuple[int, int, int]
) -> bool:
    """Fills ``made`` with what the label has spent after crossing; false if it does not fit."""
    x, finished, p = place
    level, resources = pool.crossed[x], len(space.resources.kind)
    for k in range(resources):
        pool.made[k] = pool.spent[n, k] + space.resources.spent[k, x, level, p]
        if pool.made[k] == np.inf:
            return False
    taken = pool.made[resources:]
    copy_row(taken, pool.spent[n, resources:])
    capacity, top = space.capacity, problem.levels[x]
    if level > 0:
        bits = bits_at(problem, capacity, (x, level, finished, p))
        if not take(problem, capacity.tight, problem.memory[x, level], bits, taken):
            return False
    if x == OUT and level == top - 1:
        bits = bits_at(problem, capacity, (x, top, int(capacity.finished[p]), p))
        return take(problem, capacity.tight, problem.memory[x, top], bits, taken)
    return True


@kernel
def _add_each(
    problem: FlatProblem, space: Space, pool: Pool, at: tuple[int, int, int, int], limit: float
) -> int:
    """Adds each factor to the order; returns the number of labels."""
    n, used, p, s = at
    for f in range(len(space.lattice.factors)):
        q = space.lattice.step[p, f]
        if q < 0:
            continue
        copy_row(pool.made, pool.spent[n])
        if is_worth_following(problem, space, pool, (q, 0.0), limit):
            used = _add(pool, (q, s), used, (n, f))
    return used


@kernel
def is_worth_following(
    problem: FlatProblem, space: Space, pool: Pool, at: tuple[int, float], limit: float
) -> bool:
    """Whether ``made``, completed at least cost from a point on, may be better than the limit.

    ``at``: the point, and cycles by which transfers on the way to it are late.
    """
    p, late = at
    for k in range(len(space.resources.kind)):
        total = pool.made[k]
        for x in range(problem.operands):
            total += space.least[k, x, pool.crossed[x], p]
        pool.total[k] = total
    if pool.total[0] == np.inf:
        return False
    energy, latency = costs_of(space.rule, space.resources, pool.total, late)
    return is_worth(space.rule.goal, energy, latency, limit)


@kernel
def _add(pool: Pool, at: tuple[int, int], used: int, way: tuple[int, int]) -> int:
    """Adds a label with what was made, unless another is as good; drops those that it beats."""
    p, s = at
    before, n = NONE, pool.head[p, s]
    while n != NONE:
        following = pool.after[n]
        if is_at_most(pool.spent[n], pool.made, pool.compared):
            return used
        if not is_at_most(pool.made, pool.spent[n], pool.compared):
            before = n
        elif before == NONE:
            pool.head[p, s] = following
        else:
            pool.after[before] = following
        n = following
    copy_row(pool.spent[used], pool.made)
    pool.parent[used], pool.move[used] = way
    pool.after[used] = NONE
    if before == NONE:
        pool.head[p, s] = used
    else:
        pool.after[before] = used
    return used + 1


@kernel
def is_at_most(one: Floats, other: Floats, compared: Ints) -> bool:
    """Whether one label has spent and taken no more than another."""
    at = 0
    while at < len(compared) and one[compared[at]] <= other[compared[at]]:
        at += 1
    return at == len(compared)


@kernel
def count_states(problem: FlatProblem) -> int:
    """How many states there are; in the last two all boundaries are crossed."""
    states = 2
    for x in range(problem.operands):
        states *= problem.levels[x] + 1
    return states


@kernel
def encode(problem: FlatProblem, crossed: Ints, finished: int) -> int:
    """A number for the boundaries crossed [x] and whether the output was finished below."""
    state = 0
    for x in range(problem.operands):
        state = state * (problem.levels[x] + 1) + crossed[x]
    return int(state * 2 + finished)


@kernel
def decode(problem: FlatProblem, state: int, crossed: Ints) -> int:
    """Fills ``crossed``; returns whether the output was finished."""
    finished, state = state % 2, state // 2
    for x in range(problem.operands - 1, -1, -1):
        crossed[x] = state % (problem.levels[x] + 1)
        state //= problem.levels[x] + 1
    return finished
