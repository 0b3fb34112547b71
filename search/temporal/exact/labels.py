"""Paths through the lattice that may still be the best: labels, dominance and a bound.

A label is a partial path: the point reached, how many boundaries each operand has crossed, which
shared memories of an even mapping are closed, and what has been spent of each resource and taken in
each tight memory. A label that cannot be completed to a better mapping than the incumbent is
dropped, and so is one that has spent and taken no less than another at the same point with the same
boundaries crossed and memories closed. What is left over bounds all mappings, and as energy is a
sum of what boundaries spend, it includes one of least energy.
"""

from typing import NamedTuple

import numpy as np

from nestmap.costmodel.flat_problem import FlatProblem
from nestmap.costmodel.kernel.jit import kernel
from nestmap.costmodel.kernel.record import OUT, copy_row
from nestmap.costmodel.reuse import IRRELEVANT
from nestmap.model.arrays import Codes, Floats, Ints
from nestmap.search.temporal.exact.capacity import Capacity, bits_at, forget, take
from nestmap.search.temporal.exact.lattice import Lattice, most_levels
from nestmap.search.temporal.exact.objective_bound import costs_of, is_worth
from nestmap.search.temporal.exact.shared_memories import (
    Shared,
    count_ended,
    ends_with,
    is_closed,
    may_cross,
    put_shared_cuts,
)
from nestmap.search.temporal.exact.space import Space

NONE = -1

NO_ROOM = -1
"""Returned instead of whether the output is finished."""


class Pool(NamedTuple):
    """Labels, in the order in which they are made."""

    spent: Floats  # [n, k + tight memories] of each resource, and bits taken
    parent: Ints  # [n]
    move: Ints  # [n] the factor added, or -1 - x for a boundary of operand x; closings follow
    after: Ints  # [n] the next label of the same list
    head: Ints  # [p, s] the first label of each list
    crossed: Ints  # scratch [x]
    ended: Ints  # scratch [x] boundaries below which levels have ended
    after_move: Ints  # scratch [x] the same after a move
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
    states = count_states(problem) * len(space.shared.sets)
    compared = space.resources.compared
    order = np.arange(compared + width - resources)
    for n in range(compared, len(order)):
        order[n] += resources - compared
    return Pool(
        np.empty((labels, width)),
        np.empty(labels, np.int64),
        np.empty(labels, np.int64),
        np.empty(labels, np.int64),
        np.empty((len(space.lattice.depth), states), np.int64),
        np.zeros(problem.operands, np.int64),
        np.zeros(problem.operands, np.int64),
        np.zeros(problem.operands, np.int64),
        np.zeros(resources),
        np.zeros(width),
        order,
    )


class Ends(NamedTuple):
    """Paths to the corner: the mappings that they stand for, and bounds of their costs."""

    orders: Codes  # [n, loop] numbers of factors
    cuts: Codes  # [n, x, l]
    energies: Floats  # [n] pJ
    latencies: Floats  # [n] cycles


@kernel
def paths_left(problem: FlatProblem, space: Space, pool: Pool) -> Ends:
    """The paths that may be better than the incumbent, in the order in which they were made."""
    labels = leftover(pool)
    count, resources = len(labels), len(space.resources.kind)
    ends = Ends(
        np.empty((count, space.lattice.depth[-1]), np.uint8),
        np.empty((count, problem.operands, most_levels(problem)), np.uint8),
        np.empty(count),
        np.empty(count),
    )
    for n in range(count):
        put_mapping(problem, space, pool, labels[n], ends.orders[n], ends.cuts[n])
        spent = pool.spent[labels[n], :resources]
        ends.energies[n], ends.latencies[n] = costs_of(space.rule, space.resources, spent, 0.0)
    return ends


@kernel
def leftover(pool: Pool) -> Ints:
    """The labels at the corner."""
    found, states = [NONE], pool.head.shape[1]
    for state in (states - 2, states - 1):
        label = int(pool.head[-1, state])
        while label != NONE:
            found.append(label)
            label = int(pool.after[label])
    return np.sort(np.array(found)[1:])


@kernel
def put_mapping(
    problem: FlatProblem, space: Space, pool: Pool, label: int, order: Codes, cuts: Codes
) -> None:
    """Writes the ``order`` [loop] and ``cuts`` [x, l] of a path to the corner, from its end on."""
    done = len(order)
    ends, crossed = np.full(len(space.shared.memory), done), problem.levels.copy()
    cuts[:] = done
    while pool.parent[label] != NONE:
        move = int(pool.move[label])
        label = int(pool.parent[label])
        if move >= 0:
            done -= 1
            order[done] = move
        elif move < -problem.operands:
            ends[-1 - problem.operands - move] = done
        else:
            x = -1 - move
            crossed[x] -= 1
            if crossed[x] > 0:
                cuts[x, crossed[x] - 1] = done
    put_shared_cuts(problem, space.shared, ends, cuts)


@kernel
def limits_between(bound: float, most: float) -> Floats:
    """Limits from a bound up to the incumbent, or to infinity without one.

    A low limit takes few labels, and suffices if the optimum is low.
    """
    if most < np.inf:
        limits = bound + (most - bound) * np.array((1 / 16, 1 / 4, 1.0))
    else:
        limits = bound * (1 + np.array((0.01, 0.04, 0.16, 0.64, 2.56, 0.0)))
    limits[len(limits) - 1] = most
    return limits


@kernel
def find_paths(problem: FlatProblem, space: Space, pool: Pool, limit: float) -> Outcome:
    """Fills the pool with the paths that may have an objective below the limit."""
    resources = len(space.resources.kind)
    pool.head[:] = NONE
    pool.head[0, int(space.capacity.finished[0])] = 0
    pool.parent[0], pool.move[0], pool.after[0] = NONE, 0, NONE
    pool.spent[0, :resources] = 0.0
    copy_row(pool.spent[0, resources:], space.capacity.reserved)
    used, states = 1, count_states(problem)
    moves = problem.operands + len(space.shared.memory) + len(space.lattice.factors)
    for p in range(len(space.lattice.depth)):
        for s in range(pool.head.shape[1]):
            n, closed = int(pool.head[p, s]), space.shared.sets[s // states]
            while n != NONE:
                if used + moves > len(pool.parent):
                    return Outcome(used, False)
                finished = decode(problem, s % states, pool.crossed)
                count_ended(problem, space.shared, closed, pool.crossed, pool.ended)
                here = p, finished, closed
                used = _cross_each(problem, space, pool, (n, used, here), limit)
                if len(space.shared.memory) > 0:
                    used = _close_each(problem, space, pool, (n, used, here))
                used = _add_each(problem, space, pool, (n, used, s), here, limit)
                n = int(pool.after[n])
    return Outcome(used, True)


Here = tuple[int, int, int]
"""A point, whether the output was finished at the last level that ended, and closed memories."""


@kernel
def _cross_each(
    problem: FlatProblem, space: Space, pool: Pool, at: tuple[int, int, Here], limit: float
) -> int:
    """Lets each operand cross its next boundary; returns the number of labels.

    Boundaries at one point are crossed operand by operand: other sequences are equal.
    """
    n, used, here = at
    p, _, closed = here
    taken = pool.made[len(space.resources.kind) :]
    for x in range(max(0, last_to_cross(problem, pool.parent, pool.move, n)), problem.operands):
        if pool.crossed[x] == problem.levels[x]:
            continue
        after = cross(problem, space, pool, (n, x), here)
        if after == NO_ROOM:
            continue
        pool.crossed[x] += 1
        if is_worth_following(problem, space, pool, (p, 0.0), limit):
            count_ended(problem, space.shared, closed, pool.crossed, pool.after_move)
            forget(problem, space.capacity.tight, pool.after_move, taken)
            s = encode_all(problem, space.shared, closed, pool.crossed, after)
            used = _add(pool, (p, s), used, (n, -1 - x))
        pool.crossed[x] -= 1
    return used


@kernel
def _close_each(problem: FlatProblem, space: Space, pool: Pool, at: tuple[int, int, Here]) -> int:
    """Closes each shared memory; returns the number of labels."""
    n, used, here = at
    taken = pool.made[len(space.resources.kind) :]
    for i in range(len(space.shared.memory)):
        after = close(problem, space, pool, (n, i), here)
        if after != NO_ROOM:
            closed = here[2] | 1 << i
            count_ended(problem, space.shared, closed, pool.crossed, pool.after_move)
            forget(problem, space.capacity.tight, pool.after_move, taken)
            s = encode_all(problem, space.shared, closed, pool.crossed, after)
            used = _add(pool, (here[0], s), used, (n, -1 - problem.operands - i))
    return used


@kernel
def last_to_cross(problem: FlatProblem, parent: Ints, move: Ints, n: int) -> int:
    """The operand that has crossed a boundary last since the last loop was added, or -1."""
    while parent[n] != NONE and move[n] < -problem.operands:
        n = int(parent[n])
    if parent[n] == NONE or move[n] >= 0:
        return -1
    return int(-1 - move[n])


@kernel
def cross(problem: FlatProblem, space: Space, pool: Pool, way: tuple[int, int], here: Here) -> int:
    """Lets an operand of a label cross its next boundary, if there is one left.

    Fills ``made``; returns whether the output is finished at the last level that has ended, or
    NO_ROOM if the boundary may not be crossed here.
    """
    n, x = way
    p, finished, closed = here
    level, resources = pool.crossed[x], len(space.resources.kind)
    is_last = p == len(space.lattice.depth) - 1  # where all memories close
    if not (is_last or may_cross(problem, space.shared, x, closed, pool.crossed)):
        return NO_ROOM
    for k in range(resources):
        pool.made[k] = pool.spent[n, k] + space.resources.spent[k, x, level, p]
        if pool.made[k] == np.inf:
            return NO_ROOM
    copy_row(pool.made[resources:], pool.spent[n, resources:])
    if closed != 0 and pool.ended[x] > level:
        return finished
    taken = pool.made[resources:]
    return _end_levels(problem, space.capacity, space.shared, (x, level), here, taken)


@kernel
def close(problem: FlatProblem, space: Space, pool: Pool, way: tuple[int, int], here: Here) -> int:
    """Closes a shared memory, which ends levels of one or more operands of a label.

    Fills ``made``; returns whether the output is finished at the last level that has ended, or
    NO_ROOM if the memory may not be closed here. At the corner no move closes memories: those that
    are open close there. One that holds an operand as a whole closes before only if the memory
    below is going to hold all loops.
    """
    n, i = way
    p, finished, closed = here
    m = space.shared.memory[i]
    if closed & 1 << i != 0 or p == len(space.lattice.depth) - 1:
        return NO_ROOM
    if not _is_first_way(problem, space.shared, pool, (n, i)):
        return NO_ROOM
    copy_row(pool.made, pool.spent[n])
    taken = pool.made[len(space.resources.kind) :]
    for slot in range(problem.slots[m]):
        x, level = problem.slot_operand[m, slot], problem.slot_level[m, slot]
        if level == max(1, pool.ended[x]):
            if level == problem.levels[x]:
                return NO_ROOM
            here = p, finished, closed | 1 << i
            end = x, level
            finished = _end_levels(problem, space.capacity, space.shared, end, here, taken)
            if finished == NO_ROOM:
                return NO_ROOM
    return finished


@kernel
def _is_first_way(problem: FlatProblem, shared: Shared, pool: Pool, way: tuple[int, int]) -> bool:
    """Whether closing a memory ends a level, and no earlier sequence of these moves is equal."""
    n, i = way
    if pool.parent[n] != NONE and -1 - problem.operands - pool.move[n] >= i:
        return False
    last = last_to_cross(problem, pool.parent, pool.move, n)
    if last >= 0:
        level = pool.crossed[last] - 1
        if level == 0 or shared.bit[problem.memory[last, level]] != 0:
            return False
    return ends_with(problem, shared, i, last, pool.ended)


@kernel
def _end_levels(
    problem: FlatProblem,
    capacity: Capacity,
    shared: Shared,
    first: tuple[int, int],
    here: Here,
    taken: Floats,
) -> int:
    """Adds what the levels of an operand take that end here, from the first on.

    Above the first there may be levels of closed memories, which hold the same. Returns whether
    the output is finished above them, or NO_ROOM.
    """
    x, level = first
    p, finished, closed = here
    top = problem.levels[x]
    while True:
        if level > 0:
            bits = bits_at(problem, capacity, (x, level, finished, p))
            if not take(problem, capacity.tight, problem.memory[x, level], bits, taken):
                return NO_ROOM
        if x == OUT:
            finished = int(capacity.finished[p])
        if x == OUT and level == top - 1:
            bits = bits_at(problem, capacity, (x, top, finished, p))
            if not take(problem, capacity.tight, problem.memory[x, top], bits, taken):
                return NO_ROOM
        level += 1
        if closed == 0 or not is_closed(problem, shared, closed, x, level):
            return finished
        if level == top:
            return finished if p == len(capacity.finished) - 1 else NO_ROOM


@kernel
def _add_each(
    problem: FlatProblem,
    space: Space,
    pool: Pool,
    at: tuple[int, int, int],
    here: Here,
    limit: float,
) -> int:
    """Adds each factor to the order; returns the number of labels."""
    n, used, s = at
    for f in range(len(space.lattice.factors)):
        q = space.lattice.step[here[0], f]
        if q < 0 or (here[2] != 0 and moves_ended(problem, space.lattice, pool, f)):
            continue
        copy_row(pool.made, pool.spent[n])
        if is_worth_following(problem, space, pool, (q, 0.0), limit):
            used = _add(pool, (q, s), used, (n, f))
    return used


@kernel
def moves_ended(problem: FlatProblem, lattice: Lattice, pool: Pool, f: int) -> bool:
    """Whether a factor moves data across a boundary that has to be crossed first."""
    for x in range(problem.operands):
        is_relevant = problem.relevance[x, lattice.factors[f, 0]] != IRRELEVANT
        if pool.ended[x] > pool.crossed[x] and is_relevant:
            return True
    return False


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
def encode_all(
    problem: FlatProblem, shared: Shared, closed: int, crossed: Ints, finished: int
) -> int:
    """A number for closed memories and the rest of the state.

    Those in which all boundaries are crossed are the last ones, whatever is closed.
    """
    states, state = count_states(problem), encode(problem, crossed, finished)
    n = len(shared.sets) - 1
    while state < states - 2 and shared.sets[n] != closed:
        n -= 1
    return int(n * states + state)


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
