"""Paths through the lattice that may still be the best: labels, dominance and a bound.

A label is a partial path: the point reached, how many boundaries each operand has crossed, and
what has been spent of each resource and taken in each tight memory. A label that cannot be
completed to a better mapping than the incumbent is dropped. With dominance, so is one that has
spent and taken no less than another with the same boundaries crossed at the same point: what is
left over bounds all mappings, and as energy is a sum of what boundaries spend, it includes one of
least energy. Without dominance every mapping is left over that may be better than the incumbent.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from nestmap.costmodel.flat_problem import FlatProblem
from nestmap.costmodel.kernel.axes import OUT
from nestmap.costmodel.kernel.jit import kernel
from nestmap.costmodel.reuse import IRRELEVANT
from nestmap.model.arrays import Floats, Ints
from nestmap.search.temporal.exact.capacity import forget, take
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
    levels: Ints  # scratch [x]
    total: Floats  # scratch [k]
    made: Floats  # scratch [k + tight memories]
    compared: Ints  # columns of ``spent`` that dominance compares


class Pruning(NamedTuple):
    """Which labels are dropped."""

    limit: float  # those whose bound of the objective is not below
    dominance: bool  # those that another label is as good as
    even: bool  # without dominance, those whose cuts cannot become even


class Outcome(NamedTuple):
    """The end of a search; paths that are left over are the list of the last point and state."""

    labels: int  # how many were made
    is_complete: bool  # false if the pool was full


def new_pool(problem: FlatProblem, space: Space, labels: int) -> Pool:
    """An empty pool."""
    resources = len(space.resources.kind)
    width = resources + len(space.capacity.reserved)
    states = int(np.prod(problem.levels[: problem.operands] + 1)) * 2
    return Pool(
        np.empty((labels, width)),
        np.empty(labels, np.int64),
        np.empty(labels, np.int64),
        np.empty(labels, np.int64),
        np.empty((len(space.lattice.depth), states), np.int64),
        np.zeros(problem.operands, np.int64),
        np.zeros(problem.operands, np.int64),
        np.zeros(resources),
        np.zeros(width),
        np.append(np.arange(space.resources.compared), np.arange(resources, width)),
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
def find_paths(problem: FlatProblem, space: Space, pool: Pool, pruning: Pruning) -> Outcome:
    """Fills the pool with the paths that may have an objective below the limit."""
    resources = len(space.resources.kind)
    pool.head[:] = NONE
    pool.head[0, 0] = 0
    pool.parent[0], pool.move[0], pool.after[0] = NONE, 0, NONE
    pool.spent[0, :resources] = 0.0
    pool.spent[0, resources:] = space.capacity.reserved
    used, kinds = 1, len(space.lattice.factors)
    for p in range(len(space.lattice.depth)):
        for s in range(pool.head.shape[1]):
            n = int(pool.head[p, s])
            while n != NONE:
                if used + problem.operands + kinds > len(pool.parent):
                    return Outcome(used, False)
                finished = _decode(problem, s, pool.crossed)
                used = _cross_each(problem, space, pool, (n, used, p, finished), pruning)
                used = _add_each(problem, space, pool, (n, used, p, s), pruning)
                n = int(pool.after[n])
    return Outcome(used, True)


@kernel
def _cross_each(
    problem: FlatProblem,
    space: Space,
    pool: Pool,
    at: tuple[int, int, int, int],
    pruning: Pruning,
) -> int:
    """Lets each operand cross its next boundary; returns the number of labels.

    Boundaries at one point are crossed operand by operand: other sequences are equal.
    """
    n, used, p, finished = at
    last = -1 - pool.move[n] if pool.parent[n] != NONE and pool.move[n] < 0 else 0
    for x in range(last, problem.operands):
        if pool.crossed[x] == problem.levels[x]:
            continue
        if pruning.even and not pruning.dominance and not _is_even(problem, space, pool, n, (x, p)):
            continue
        if _spend(problem, space, pool, n, (x, finished, p)):
            pool.crossed[x] += 1
            after = int(space.capacity.finished[p]) if x == OUT else finished
            if _is_worth(problem, space, pool, p, pruning.limit):
                forget(
                    problem, space.capacity, pool.crossed, pool.made[len(space.resources.kind) :]
                )
                s = _encode(problem, pool.crossed, after)
                used = _add(pool, (p, s), used, (n, -1 - x), pruning.dominance)
            pool.crossed[x] -= 1
    return used


@kernel
def _is_even(
    problem: FlatProblem, space: Space, pool: Pool, n: int, place: tuple[int, int]
) -> bool:
    """Whether the next cut of an operand may end here, as far as its memory is cut already.

    A level that adds loops ends where the first level of its memory has ended.
    """
    x, p = place
    level, here = pool.crossed[x], space.lattice.depth[p]
    if level == 0:
        return True
    memory, at = problem.memory[x, level], here
    below, first = 0, here
    pool.levels[:] = pool.crossed
    while pool.parent[n] != NONE:
        if pool.move[n] >= 0:
            at -= 1
        else:
            y = -1 - pool.move[n]
            pool.levels[y] -= 1
            if y == x:
                below = max(below, at)
            if pool.levels[y] > 0 and problem.memory[y, pool.levels[y]] == memory:
                first = at
        n = pool.parent[n]
    return bool(here in (below, first))


@kernel
def _spend(
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
    taken[:] = pool.spent[n, resources:]
    if level > 0 and not take(problem, space.capacity, (x, level, finished, p), taken):
        return False
    top = problem.levels[x]
    if x == OUT and level == top - 1:
        here = int(space.capacity.finished[p])
        return take(problem, space.capacity, (x, top, here, p), taken)
    return True


@kernel
def _add_each(
    problem: FlatProblem,
    space: Space,
    pool: Pool,
    at: tuple[int, int, int, int],
    pruning: Pruning,
) -> int:
    """Adds each factor to the order; returns the number of labels."""
    n, used, p, s = at
    for f in range(len(space.lattice.factors)):
        q = space.lattice.step[p, f]
        if q < 0 or not (
            pruning.dominance or pruning.even or _is_canonical(problem, space, pool, n, f)
        ):
            continue
        pool.made[:] = pool.spent[n]
        if _is_worth(problem, space, pool, q, pruning.limit):
            used = _add(pool, (q, s), used, (n, f), pruning.dominance)
    return used


@kernel
def _is_canonical(problem: FlatProblem, space: Space, pool: Pool, n: int, f: int) -> bool:
    """Whether no operand that crossed a boundary here keeps its data while this factor runs.

    Its boundary above the factor is the same mapping.
    """
    dimension = space.lattice.factors[f, 0]
    while pool.parent[n] != NONE and pool.move[n] < 0:
        x = -1 - pool.move[n]
        kept = x != OUT or pool.crossed[x] > 1
        if x != OUT and problem.holds_inputs == 0 and pool.crossed[x] == 1:
            kept = False
        if kept and problem.relevance[x, dimension] == IRRELEVANT:
            return False
        n = pool.parent[n]
    return True


@kernel
def _is_worth(problem: FlatProblem, space: Space, pool: Pool, p: int, limit: float) -> bool:
    """Whether ``made``, completed at least cost from a point on, may be better than the limit."""
    for k in range(len(space.resources.kind)):
        total = pool.made[k]
        for x in range(problem.operands):
            total += space.least[k, x, pool.crossed[x], p]
        pool.total[k] = total
    if pool.total[0] == np.inf:
        return False
    energy, latency = costs_of(space.rule, space.resources, pool.total)
    return is_worth(space.rule, energy, latency, limit)


@kernel
def _add(pool: Pool, at: tuple[int, int], used: int, way: tuple[int, int], dominance: bool) -> int:
    """Adds a label with what was made; with dominance, unless another is as good."""
    p, s = at
    before = NONE
    if dominance:
        n = pool.head[p, s]
        while n != NONE:
            following = pool.after[n]
            if _is_at_most(pool.spent[n], pool.made, pool.compared):
                return used
            if _is_at_most(pool.made, pool.spent[n], pool.compared):
                if before == NONE:
                    pool.head[p, s] = following
                else:
                    pool.after[before] = following
            else:
                before = n
            n = following
    pool.spent[used] = pool.made
    pool.parent[used], pool.move[used] = way
    if dominance and before != NONE:
        pool.after[used] = NONE
        pool.after[before] = used
    else:
        pool.after[used] = pool.head[p, s]
        pool.head[p, s] = used
    return used + 1


@kernel
def _is_at_most(one: Floats, other: Floats, compared: Ints) -> bool:
    at = 0
    while at < len(compared) and one[compared[at]] <= other[compared[at]]:
        at += 1
    return at == len(compared)


@kernel
def _encode(problem: FlatProblem, crossed: Ints, finished: int) -> int:
    state = 0
    for x in range(problem.operands):
        state = state * (problem.levels[x] + 1) + crossed[x]
    return int(state * 2 + finished)


@kernel
def _decode(problem: FlatProblem, state: int, crossed: Ints) -> int:
    """Fills ``crossed``; returns whether the output was finished."""
    finished, state = state % 2, state // 2
    for x in range(problem.operands - 1, -1, -1):
        crossed[x] = state % (problem.levels[x] + 1)
        state //= problem.levels[x] + 1
    return finished
