"""The least energy of many spatial mappings of one layer: the shortest path of each.

A label is a partial path, as in :mod:`nestmap.search.temporal.exact.labels`. What its operands have
left to spend is known exactly for each on its own, so the label with the least sum is followed
first, and the first that has crossed all boundaries is the shortest path (A*: Hart, Nilsson,
Raphael, 1968). Few labels lie below it. So the whole lattice, of which each operand has a part, is
never written down, and what a boundary takes is computed where a label crosses it.
"""

from heapq import heappop, heappush
from typing import NamedTuple

import numpy as np

from nestmap.costmodel.flat_problem import FlatProblem
from nestmap.costmodel.kernel.jit import kernel
from nestmap.costmodel.kernel.record import OUT, copy_row
from nestmap.costmodel.kernel.work import Work
from nestmap.costmodel.reuse import IRRELEVANT
from nestmap.model.arrays import Flags, Floats, Ints
from nestmap.search.temporal.exact.capacity import (
    LOOSE,
    forget,
    is_early,
    most_that_fits,
    take,
    tight_memories,
)
from nestmap.search.temporal.exact.labels import NONE, count_states, decode, encode, is_at_most
from nestmap.search.temporal.exact.lattice import load_below, most_levels
from nestmap.search.temporal.exact.operand_tables import (
    OperandTable,
    boundary_energy,
    first_cut,
    has_large_table,
    operand_table,
)
from nestmap.search.temporal.exact.rows import RowTable, put_row

ROUNDING = 1e-9
"""How far energies that are equal may differ because their terms are rounded."""

FIRST_HEADS = 1 << 10
"""Places of the hash table of points and states at first; it doubles when half of it is full."""


class Ways(NamedTuple):
    """The tables of a row.

    Axes: ``f`` factors, ``x`` operands, ``m`` memories, ``k`` tight memories.
    """

    factors: Ints  # [f, 2] dimension and size
    counts: Ints  # [f]
    stride: Ints  # [f] between the points of the whole lattice, which are in mixed-radix order
    own: Ints  # [x, f] the same between those of an operand's lattice, 0 for ir factors
    tables: list[OperandTable]  # [x]
    tight: Ints  # [m] index among the tight memories, or LOOSE
    reserved: Floats  # [k] bits
    limit: float  # pJ below which paths are followed


class Label(NamedTuple):
    """Where a path has come to."""

    place: int  # its number
    point: int
    state: int  # boundaries crossed, and whether the output was finished
    last: int  # the operand that has crossed a boundary at this point, or the first


class Labels(NamedTuple):
    """Labels, in the order in which they are made."""

    point: Ints  # [n]
    state: Ints  # [n]
    last: Ints  # [n]
    spent: Floats  # [n, 1 + k] pJ, and bits taken in each tight memory
    after: Ints  # [n] the next label of the same point and state
    is_beaten: Flags  # [n] whether another one has spent and taken no more
    below: Ints  # scratch [f]
    crossed: Ints  # scratch [x]
    made: Floats  # scratch [1 + k]
    compared: Ints  # columns of ``spent`` that dominance compares: all


class Found(NamedTuple):
    """The labels, and which of them are to be followed."""

    labels: Labels
    heads: Ints  # a hash table of the last label of each point and state
    paths: list[tuple[float, int]]  # a heap: the least energy of a label, and minus its place


@kernel
def least_energies(
    problem: FlatProblem, work: Work, table: RowTable, rows: Ints, limits: tuple[float, int]
) -> tuple[Floats, int]:
    """[i] the least energy (pJ) of the uneven mappings of each row, and the labels of all.

    ``limits``: the energy is infinite if it is not below, and so many labels end a search.

    Each energy found lowers the limit for the rows after it, except for those that are as low up
    to rounding. -infinity where the limit on labels ends a search, or where tables would be too
    large. The records are scratch. Energy has to be all that counts, without an order that the
    user prescribes, and a finished sum may not take more bits than an unfinished one.
    """
    least, made = np.full(len(rows), np.inf), 0
    below, labels = limits
    for i in range(len(rows)):
        if table.energy[rows[i]] >= below:
            continue
        factors, counts, _ = put_row(problem, table, rows[i], True)
        is_large = False
        for x in range(problem.operands):
            is_large = is_large or has_large_table(problem, factors, counts, x)
        if is_large:
            least[i] = -np.inf
            continue
        ways = _ways(problem, work, factors, counts, below)
        least[i], labels_of_row = _least_path(problem, work, ways, labels)
        made += labels_of_row
        if least[i] > -np.inf:
            below = min(below, least[i] * (1 + ROUNDING))
    return least, made


@kernel
def _ways(problem: FlatProblem, work: Work, factors: Ints, counts: Ints, limit: float) -> Ways:
    """The tables of the row in the record."""
    most = np.zeros((problem.operands, most_levels(problem) + 1))
    at_top = np.zeros(problem.operands)
    stride = np.zeros(len(counts), np.int64)
    own = np.zeros((problem.operands, len(counts)), np.int64)
    _put_strides(counts, stride)
    tables = [operand_table(problem, work, factors, counts, x) for x in range(problem.operands)]
    for x in range(problem.operands):
        lattice = tables[x].lattice
        _put_strides(lattice.below[len(lattice.depth) - 1] - lattice.below[0], own[x])
        for level in range(1, problem.levels[x] + 1):
            room = float(problem.memory_room[problem.memory[x, level]])
            most[x, level] = most_that_fits(tables[x].bits[level], room)
        at_top[x] = tables[x].bits[problem.levels[x], 1, 0]
    tight, reserved = tight_memories(problem, most, at_top)
    return Ways(factors, counts, stride, own, tables, tight, reserved, limit)


@kernel
def _put_strides(counts: Ints, stride: Ints) -> None:
    """Fills [f] the strides of a mixed-radix number; 0 of factors that are not there."""
    points = 1
    for f in range(len(counts) - 1, -1, -1):
        stride[f] = points if counts[f] > 0 else 0
        points *= counts[f] + 1


@kernel
def _least_path(problem: FlatProblem, work: Work, ways: Ways, most: int) -> tuple[float, int]:
    """The least energy of a path below the limit, else infinity, and how many labels were made.

    The energy is -infinity if there are too many.
    """
    labels = _new_labels(problem, ways, most)
    heads, paths = np.full(FIRST_HEADS, NONE), [(_first(problem, ways, labels), 0)]
    used = len(paths)
    while paths and paths[0][0] < ways.limit:
        least, n = heappop(paths)
        n = -n  # of equal ones the last made, so that a path is followed to its end
        if labels.is_beaten[n]:
            continue
        if labels.state[n] >= count_states(problem) - 2:
            return least, used
        if used + problem.operands + len(ways.counts) > most:
            return -np.inf, used
        if 2 * used > len(heads):
            heads = _spread(heads, labels)
        _put_below(ways, labels.point[n], labels.below)
        found = Found(labels, heads, paths)
        used = _cross_each(problem, work, ways, found, (n, used))
        used = _add_each(problem, ways, found, (n, used))
    return np.inf, used


@kernel
def _new_labels(problem: FlatProblem, ways: Ways, most: int) -> Labels:
    """Labels with that of the origin."""
    width = 1 + len(ways.reserved)
    labels = Labels(
        np.empty(most, np.int64),
        np.empty(most, np.int64),
        np.empty(most, np.int64),
        np.empty((most, width)),
        np.empty(most, np.int64),
        np.empty(most, np.bool_),
        np.zeros(len(ways.counts), np.int64),
        np.zeros(problem.operands, np.int64),
        np.zeros(width),
        np.arange(width),
    )
    labels.point[0] = labels.state[0] = labels.last[0] = 0
    labels.spent[0, 0] = problem.computation
    copy_row(labels.spent[0, 1:], ways.reserved)
    labels.after[0], labels.is_beaten[0] = NONE, False
    return labels


@kernel
def _first(problem: FlatProblem, ways: Ways, labels: Labels) -> float:
    """The least energy of any path."""
    for m in range(problem.memories):
        k = ways.tight[m]
        if k != LOOSE and ways.reserved[k] > problem.memory_room[m]:
            return np.inf
    return _left(problem, ways, labels, float(problem.computation))


@kernel
def _put_below(ways: Ways, point: int, below: Ints) -> None:
    """Fills [f] how many of each factor lie below a point."""
    for f in range(len(below)):
        below[f] = 0
        if ways.stride[f] > 0:
            below[f] = (point // ways.stride[f]) % (ways.counts[f] + 1)


@kernel
def _own_point(ways: Ways, below: Ints, x: int) -> int:
    """The point of an operand's lattice."""
    point = 0
    for f in range(len(below)):
        point += below[f] * ways.own[x, f]
    return point


@kernel
def _left(problem: FlatProblem, ways: Ways, labels: Labels, spent: float) -> float:
    """What a path spends at least, from what it has spent, the loops below and the crossings."""
    for x in range(problem.operands):
        table = ways.tables[x]
        spent += table.least[labels.crossed[x], _own_point(ways, labels.below, x)]
    return spent


@kernel
def _has_all_still(problem: FlatProblem, ways: Ways, below: Ints, x: int) -> bool:
    """Whether no loop above leaves the operand's data in place."""
    for f in range(len(below)):
        if problem.relevance[x, ways.factors[f, 0]] == IRRELEVANT and below[f] < ways.counts[f]:
            return False
    return True


@kernel
def _cross_each(
    problem: FlatProblem, work: Work, ways: Ways, found: Found, at: tuple[int, int]
) -> int:
    """Lets each operand cross its next boundary; returns the number of labels.

    ``at``: the label, and how many there are. Boundaries at one point are crossed operand by
    operand: other sequences are equal.
    """
    labels, (n, used) = found.labels, at
    finished = decode(problem, labels.state[n], labels.crossed)
    for x in range(labels.last[n], problem.operands):
        if labels.crossed[x] == problem.levels[x]:
            continue
        if _spend(problem, work, ways, labels, (n, x, finished)):
            labels.crossed[x] += 1
            after = finished
            if x == OUT:
                after = 1 if _has_all_still(problem, ways, labels.below, x) else 0
            least = _left(problem, ways, labels, labels.made[0])
            if least < ways.limit:
                forget(problem, ways.tight, labels.crossed, labels.made[1:])
                state = encode(problem, labels.crossed, after)
                used = _keep(found, Label(used, labels.point[n], state, x), least)
            labels.crossed[x] -= 1
    return used


@kernel
def _spend(
    problem: FlatProblem, work: Work, ways: Ways, labels: Labels, place: tuple[int, int, int]
) -> bool:
    """Fills ``made`` with what a path has spent after crossing; false if it does not fit.

    ``place``: the label, the operand, and whether the output was finished below.
    """
    n, x, finished = place
    level, top, table = labels.crossed[x], problem.levels[x], ways.tables[x]
    column = _own_point(ways, labels.below, x)
    energy = table.spent[level, column]
    if energy == np.inf:
        return False
    has_all = _has_all_still(problem, ways, labels.below, x)
    if not has_all and column + 1 == len(table.lattice.depth):
        column += 1
    copy_row(labels.made, labels.spent[n])
    taken = labels.made[1:]
    if level > 0:
        bits = table.bits[level, finished if x == OUT else 1, column]
        if not take(problem, ways.tight, problem.memory[x, level], bits, taken):
            return False
    if x == OUT and level == top - 1:
        bits = table.bits[top, 1 if has_all else 0, column]
        if not take(problem, ways.tight, problem.memory[x, top], bits, taken):
            return False
    if not has_all:
        energy = _energy_below(problem, work, ways, labels.below, (x, level))
    labels.made[0] += energy
    return bool(energy < np.inf)


@kernel
def _energy_below(
    problem: FlatProblem, work: Work, ways: Ways, below: Ints, boundary: tuple[int, int]
) -> float:
    """The energy of crossing a boundary while ir loops are left above; infinite if it may not."""
    (x, level), cut = boundary, below.sum()
    if level == 1 and is_early(problem, x, ways.factors, below, ways.counts):
        return np.inf
    if level == 0 and cut > first_cut(problem, x, cut):
        return np.inf
    load_below(work, ways.factors, below, ways.counts)
    return boundary_energy(problem, work, boundary, cut)


@kernel
def _add_each(problem: FlatProblem, ways: Ways, found: Found, at: tuple[int, int]) -> int:
    """Adds each factor to the order; returns the number of labels. ``at`` is as above."""
    labels, (n, used) = found.labels, at
    decode(problem, labels.state[n], labels.crossed)
    copy_row(labels.made, labels.spent[n])
    for f in range(len(ways.counts)):
        if labels.below[f] == ways.counts[f] or not _may_add(problem, ways, labels, f):
            continue
        labels.below[f] += 1
        least = _left(problem, ways, labels, labels.made[0])
        if least < ways.limit:
            label = Label(used, labels.point[n] + ways.stride[f], labels.state[n], 0)
            used = _keep(found, label, least)
        labels.below[f] -= 1
    return used


@kernel
def _may_add(problem: FlatProblem, ways: Ways, labels: Labels, f: int) -> bool:
    """Whether no operand has to cross its first boundary before this factor.

    The tables know this of relevant factors.
    """
    for x in range(problem.operands):
        stays = problem.relevance[x, ways.factors[f, 0]] == IRRELEVANT
        if stays and labels.crossed[x] == 0 and first_cut(problem, x, 1) == 0:
            return False
    return True


# --- labels of the same point and state, in lists that a hash table finds ---


@kernel
def _keep(found: Found, label: Label, least: float) -> int:
    """Keeps a label with what was made, unless another is as good; returns how many there are."""
    labels, heads, new = found.labels, found.heads, label.place
    place = _place(labels, heads, label.point, label.state)
    n = heads[place]
    while n != NONE:
        if not labels.is_beaten[n]:
            if is_at_most(labels.spent[n], labels.made, labels.compared):
                return new
            labels.is_beaten[n] = is_at_most(labels.made, labels.spent[n], labels.compared)
        n = labels.after[n]
    labels.point[new], labels.state[new], labels.last[new] = label.point, label.state, label.last
    copy_row(labels.spent[new], labels.made)
    labels.after[new], labels.is_beaten[new] = heads[place], False
    heads[place] = new
    heappush(found.paths, (least, -new))
    return new + 1


@kernel
def _place(labels: Labels, heads: Ints, point: int, state: int) -> int:
    """The place of a list in the hash table, or a free one."""
    place = (point * 1_000_003 + state * 7_919) & (len(heads) - 1)
    while heads[place] != NONE and (
        labels.point[heads[place]] != point or labels.state[heads[place]] != state
    ):
        place = (place + 1) & (len(heads) - 1)
    return place


@kernel
def _spread(heads: Ints, labels: Labels) -> Ints:
    """The hash table with twice as many places."""
    wider = np.full(2 * len(heads), NONE)
    for head in heads:
        if head != NONE:
            point, state = int(labels.point[head]), int(labels.state[head])
            wider[_place(labels, wider, point, state)] = head
    return wider
