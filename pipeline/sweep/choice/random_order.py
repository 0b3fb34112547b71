"""A random order of all designs of a space, however many there are."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random


def shuffled(size: int, seed: int) -> Iterator[int]:
    """All numbers below ``size`` in random order, each once; ``size`` may be astronomic.

    Takes memory for those that have been given out only, by Fisher and Yates' method.
    """
    random, moved = Random(seed), dict[int, int]()
    for n in range(size):
        place = random.randrange(n, size)
        yield moved.get(place, place)
        moved[place] = moved.get(n, n)
