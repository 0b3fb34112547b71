"""Finds the best combinations of unrollings over all array dimensions without enumerating them."""

from collections.abc import Mapping, Sequence
from math import prod

import numpy as np

from nestmap.costmodel.kernel.jit import kernel
from nestmap.model import Loop
from nestmap.model.arrays import Floats, Ints
from nestmap.model.dims import Dimension

Choice = tuple[Loop, ...]
"""The loops unrolled over one array dimension."""


def best_combinations(
    choices: Sequence[Sequence[Choice]],
    sizes: Mapping[Dimension, int],
    count: int,
    least: Mapping[Dimension, int] | None = None,
) -> list[tuple[Choice, ...]]:
    """The ``count`` best combinations of one choice per array dimension, the best first.

    The score of a combination is its utilization (units in use) plus its diversity: utilization
    over the largest unrolling of any one loop dimension, minus 1. No dimension may be unrolled
    beyond its size, nor fewer times than its ``least``, if any. Ties go to the first combination in
    the order of the choices.

    Two depth-first searches prune what cannot be among the best: the first, with the largest
    choices first, determines the lowest score among the best; the second collects the mappings.
    """
    tables = [_table(options, sizes) for options in choices]
    limits = np.array([((least or {}).get(d, 1), size) for d, size in sizes.items()], np.int64)
    first = np.cumsum([0, *map(len, tables)])
    count = min(count, prod(map(len, tables)))  # so much room it takes
    by_size = [table[np.argsort(-table.prod(axis=1), kind="stable")] for table in tables]
    worth, _ = _search(np.concatenate(by_size), first, limits, count, 0.0)
    worth, chosen = _search(np.concatenate(tables), first, limits, count, worth[-1])
    rows: list[list[int]] = chosen[worth > 0].tolist()
    return [tuple(options[i] for options, i in zip(choices, row, strict=True)) for row in rows]


def all_combinations(choices: Sequence[Sequence[Choice]], sizes: Mapping[Dimension, int]) -> Ints:
    """[row, side] the choices of every combination that unrolls no dimension beyond its size.

    In the order of the choices, the last array dimension first.
    """
    tables = [_table(options, sizes) for options in choices]
    table, limits = np.concatenate(tables), np.array(list(sizes.values()), np.int64)
    first = np.cumsum([0, *map(len, tables)])
    found = np.empty(
        (_enumerate(table, first, limits, np.empty((0, 0), np.int64)), len(tables)), np.int64
    )
    _enumerate(table, first, limits, found)
    return found


def _table(options: Sequence[Choice], sizes: Mapping[Dimension, int]) -> Ints:
    """[option, dimension] the factor by which the option unrolls the dimension."""
    positions = {dimension: d for d, dimension in enumerate(sizes)}
    table = np.ones((len(options), len(sizes)), np.int64)
    for row, option in enumerate(options):
        for loop in option:
            table[row, positions[loop.dimension]] *= loop.size
    return table


@kernel
def _search(
    table: Ints, first: Ints, limits: Ints, count: int, floor: float
) -> tuple[Floats, Ints]:
    """The best scores, descending (0: none), and the option chosen on each side.

    ``table`` has the options of all sides, those of side ``s`` from ``first[s]`` on; ``limits``
    [d, 2] the fewest and the most unrollings of a dimension. Combinations
    with a score below ``floor`` may be omitted.
    """
    sides, dimensions = len(first) - 1, len(limits)
    most = limits[:, 1]
    worths, chosen = np.zeros(count), np.zeros((count, sides), np.int64)
    totals = np.ones((sides + 1, dimensions), np.int64)
    reached = np.ones((sides + 1, 2))
    rest = _largest_rest(table, first)
    at = np.zeros(sides + 1, np.int64)
    side = 0
    while side >= 0:
        if at[side] == first[side + 1] - first[side]:
            at[side] = 0
            side -= 1
            continue
        row = first[side] + at[side]
        at[side] += 1
        if not _add(table, row, most, totals, side, reached):
            continue
        units, largest = reached[side + 1, 0], reached[side + 1, 1]
        bound = _worth(units * rest[side + 1], largest, dimensions)
        if bound < floor or bound <= worths[count - 1]:
            continue
        if side < sides - 1:
            side += 1
            continue
        value = units + units / largest - 1.0
        if _is_enough(totals[sides], limits) and value >= floor and value > worths[count - 1]:
            _keep(worths, chosen, at, value)
    return worths, chosen


@kernel
def _is_enough(total: Ints, limits: Ints) -> bool:
    """Whether all dimensions are unrolled as often as they have to be."""
    missing = 0
    for d in range(len(total)):
        missing += total[d] < limits[d, 0]
    return missing == 0


@kernel
def _enumerate(table: Ints, first: Ints, limits: Ints, found: Ints) -> int:
    """Counts the combinations that unroll no dimension beyond its size; fills as many as fit."""
    sides, count = len(first) - 1, 0
    totals = np.ones((sides + 1, len(limits)), np.int64)
    reached = np.ones((sides + 1, 2))
    at = np.zeros(sides, np.int64)
    side = 0
    while side >= 0:
        if at[side] == first[side + 1] - first[side]:
            at[side] = 0
            side -= 1
            continue
        row = first[side] + at[side]
        at[side] += 1
        if not _add(table, row, limits, totals, side, reached):
            continue
        if side < sides - 1:
            side += 1
            continue
        if count < len(found):
            for s in range(sides):
                found[count, s] = at[s] - 1
        count += 1
    return count


@kernel
def _largest_rest(table: Ints, first: Ints) -> Floats:
    """[side] the most units that the options of this side and later ones can use."""
    sides = len(first) - 1
    rest = np.ones(sides + 1)
    for side in range(sides - 1, -1, -1):
        most = 1.0
        for row in range(first[side], first[side + 1]):
            units = 1.0
            for d in range(table.shape[1]):
                units *= table[row, d]
            most = max(most, units)
        rest[side] = rest[side + 1] * most
    return rest


@kernel
def _add(table: Ints, row: int, limits: Ints, totals: Ints, side: int, reached: Floats) -> bool:
    """Adds an option to those of earlier sides; false if a dimension is unrolled too often.

    ``totals`` [side, dimension] and ``reached`` [side, 2] (units, largest total) are the unrollings
    of all sides before a side.
    """
    units, most = reached[side, 0], reached[side, 1]
    for d in range(len(limits)):
        total = totals[side, d] * table[row, d]
        if total > limits[d]:
            return False
        units *= table[row, d]
        most = max(most, float(total))
        totals[side + 1, d] = total
    reached[side + 1, 0] = units
    reached[side + 1, 1] = most
    return True


@kernel
def _worth(units: float, largest: float, dimensions: int) -> float:
    """The highest possible score of a combination.

    Its product spread evenly over all dimensions.
    """
    evenly = units ** (1.0 / dimensions) * (1.0 - 1e-12)
    bound: float = units + units / max(largest, evenly, 1.0) - 1.0
    return bound


@kernel
def _keep(worths: Floats, chosen: Ints, at: Ints, value: float) -> None:
    """Inserts a combination after those with the same score."""
    place = len(worths) - 1
    while place > 0 and worths[place - 1] < value:
        worths[place] = worths[place - 1]
        for side in range(chosen.shape[1]):
            chosen[place, side] = chosen[place - 1, side]
        place -= 1
    worths[place] = value
    for side in range(chosen.shape[1]):
        chosen[place, side] = at[side] - 1
