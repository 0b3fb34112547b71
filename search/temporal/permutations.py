"""All distinct orders of a multiset of loops, generated lazily in chunks."""

from collections import Counter
from collections.abc import Iterator, Sequence
from math import factorial, prod

import numpy as np

from nestmap.costmodel.kernel.jit import kernel
from nestmap.costmodel.kernel.record import copy_row
from nestmap.model import Loop
from nestmap.model.arrays import Codes


def encode(loops: Sequence[Loop]) -> tuple[tuple[Loop, ...], Codes]:
    """The distinct loops in order of appearance, and the code of each given loop."""
    factors = tuple(dict.fromkeys(loops))
    position = {loop: code for code, loop in enumerate(factors)}
    return factors, np.array([position[loop] for loop in loops], np.uint8)


def count_permutations(loops: Sequence[Loop]) -> int:
    """The number of distinct orders.

    >>> two, three = Loop(dimension="K", size=2), Loop(dimension="C", size=3)
    >>> count_permutations([two, two, three])
    3
    """
    return factorial(len(loops)) // prod(factorial(n) for n in Counter(loops).values())


def permutations(codes: Codes, *, inner: int = 0, outer: int = 0, chunk: int) -> Iterator[Codes]:
    """All distinct orders of ``codes`` as rows, ``chunk`` at a time.

    The first ``inner`` and the last ``outer`` codes are fixed; the others run through their orders
    from the lexicographically first one on.
    """
    state, end = codes.copy(), len(codes) - outer
    state[inner:end].sort()
    more = True
    while more:
        rows = np.empty((chunk, len(codes)), np.uint8)
        filled, more = _fill(state, inner, end, rows)
        yield rows[:filled]


@kernel
def _fill(state: Codes, first: int, end: int, rows: Codes) -> tuple[int, bool]:
    """Writes orders from ``state`` on; returns their number, and whether more follow."""
    for row in range(len(rows)):
        copy_row(rows[row], state)
        if not _advance(state[first:end]):
            return row + 1, False
    return len(rows), True


@kernel
def _advance(state: Codes) -> bool:
    """Steps to the next order; false if it was the last.

    Source: Knuth, TAOCP 4A, 7.2.1.2, algorithm L.
    """
    pivot = len(state) - 2
    while pivot >= 0 and state[pivot] >= state[pivot + 1]:
        pivot -= 1
    if pivot < 0:
        return False
    successor = len(state) - 1
    while state[successor] <= state[pivot]:
        successor -= 1
    state[pivot], state[successor] = state[successor], state[pivot]
    low, high = pivot + 1, len(state) - 1
    while low < high:
        state[low], state[high] = state[high], state[low]
        low, high = low + 1, high - 1
    return True
