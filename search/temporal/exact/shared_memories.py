"""Even mappings along a path: the memories that all of their operands leave at one loop.

Each operand of such a memory leaves it at this loop, or where the memories below end if they hold
more. A path *closes* the memory there. As the cut of an operand then lies below ir loops that
follow, which leave its data in place, its boundary is crossed later: at the next loop that moves
the data.

Formula: docs/cost-model.md#the-combination-chosen
"""

from typing import NamedTuple

import numpy as np

from nestmap.costmodel.flat_problem import FlatProblem
from nestmap.costmodel.kernel.jit import kernel
from nestmap.model.arrays import Codes, Ints


class Shared(NamedTuple):
    """Memories that hold several operands, unless each of them as a whole; none if uneven."""

    memory: Ints  # [i]
    bit: Ints  # [m] that of the memory in a set of closed ones, 0 if it is not among these
    sets: Ints  # [n] the sets that can be closed; supersets follow, all of them is the last one


@kernel
def shared_memories(problem: FlatProblem, is_even: bool) -> Shared:
    """The memories that an even mapping leaves at one loop; none for uneven mappings."""
    memory, bit = np.empty(problem.memories, np.int64), np.zeros(problem.memories, np.int64)
    count = 0
    for m in range(problem.memories):
        cuts = 0
        for i in range(problem.slots[m]):
            cuts += problem.slot_level[m, i] < problem.levels[problem.slot_operand[m, i]]
        if is_even and problem.slots[m] > 1 and cuts > 0:
            memory[count], bit[m] = m, 1 << count
            count += 1
    return Shared(memory[:count], bit, _closable_sets(problem, memory[:count], bit))


@kernel
def _closable_sets(problem: FlatProblem, memory: Ints, bit: Ints) -> Ints:
    """All sets of memories of which each ends a level of an operand when it is closed.

    They are few: nested memories close one after the other.
    """
    sets, at = [0], 0
    while at < len(sets):
        for i in range(len(memory)):
            more = sets[at] | 1 << i
            if more not in sets and _ends_level(problem, bit, sets[at], memory[i]):
                sets.append(more)
        at += 1
    return np.array(sets)


@kernel
def _ends_level(problem: FlatProblem, bit: Ints, closed: int, m: int) -> bool:
    """Whether the levels below that of an operand may all have ended when a memory is closed."""
    for slot in range(problem.slots[m]):
        x, level = problem.slot_operand[m, slot], problem.slot_level[m, slot]
        needed = 0
        for below in range(1, level):
            needed |= bit[problem.memory[x, below]]
        if level < problem.levels[x] and closed & needed == needed:
            return True
    return False


@kernel
def is_closed(problem: FlatProblem, shared: Shared, closed: int, x: int, level: int) -> bool:
    """Whether the memory of this level of an operand is among the closed ones."""
    return bool(closed & shared.bit[problem.memory[x, level]] != 0)


@kernel
def may_cross(problem: FlatProblem, shared: Shared, x: int, closed: int, crossed: Ints) -> bool:
    """Whether the level below the next boundary of an operand may end, or has ended."""
    level = crossed[x]
    if level == 0 or shared.bit[problem.memory[x, level]] == 0:
        return True
    return is_closed(problem, shared, closed, x, level)


@kernel
def count_ended(
    problem: FlatProblem, shared: Shared, closed: int, crossed: Ints, ended: Ints
) -> None:
    """Fills ``ended`` [x]: the boundaries below which levels have ended, as those ``crossed``."""
    for x in range(problem.operands):
        ended[x] = crossed[x]
        if closed != 0:
            level = max(1, crossed[x])
            while level < problem.levels[x] and is_closed(problem, shared, closed, x, level):
                level += 1
                ended[x] = level


@kernel
def ends_with(problem: FlatProblem, shared: Shared, i: int, last: int, ended: Ints) -> bool:
    """Whether closing a shared memory ends a level, but none that could have ended before.

    ``last`` is the operand that has crossed a boundary here last, or -1: the memory could have been
    closed before, unless the level lies right above this boundary.
    """
    m, ends = shared.memory[i], False
    for slot in range(problem.slots[m]):
        x, level = problem.slot_operand[m, slot], problem.slot_level[m, slot]
        if level == max(1, ended[x]):
            if last >= 0 and x != last:
                return False
            ends = True
    return ends


@kernel
def put_shared_cuts(problem: FlatProblem, shared: Shared, ends: Ints, cuts: Codes | Ints) -> None:
    """Writes the cuts [x, level - 1] of shared memories, which close after ``ends`` [i] loops."""
    for x in range(problem.operands):
        for level in range(1, problem.levels[x]):
            for i in range(len(ends)):
                if shared.memory[i] == problem.memory[x, level]:
                    below = cuts[x, level - 2] if level > 1 else 0
                    cuts[x, level - 1] = max(below, ends[i])
