"""Spatial mappings of a layer that are the same problem, so that one of them is searched.

Kernels know a spatial mapping by what :func:`~nestmap.costmodel.spatial.put_unrollings` writes. Two
with the same iterations left and, at each level, the same factor of each loop dimension cost the
same under every temporal mapping. Most of these differ in which array dimension unrolls a loop,
where several serve the same memories. Of mappings that differ in nothing but the cycles in which
the last outputs drain, the one that drains soonest is never worse.

Loop dimensions may be exchanged if the layer stays the same, as that of a square convolution does.
Then a mapping costs under an order what the other one costs under the order with the dimensions
exchanged.

Elements are products of factors in the order of the array, rounded to whole words. This order can
matter only where a product is half a word. None is if the denominators of all factors are odd.
Where tiles are exact, no order matters, and dimensions may be exchanged. All other mappings are
equal only in the same order.
"""

from itertools import combinations
from math import gcd
from typing import NamedTuple

import numpy as np

from nestmap.costmodel.flat_problem import FlatProblem
from nestmap.costmodel.flatten import flatten_problem
from nestmap.costmodel.kernel.jit import kernel
from nestmap.costmodel.kernel.record import FRACTIONAL, OUT, VIEWS, copy_record
from nestmap.costmodel.reuse import IRRELEVANT
from nestmap.costmodel.spatial import DIMENSION, put_unrollings, temporal_sizes
from nestmap.model import Layer, MappingProblem, SpatialProblem
from nestmap.model.arrays import Flags, Floats, Ints
from nestmap.search.spatial.all_mappings import SpatialCandidates
from nestmap.search.spatial.unrolling_table import UnrollingTable, array_energies
from nestmap.search.temporal.slot_candidates import EXACT, has_exact_tiles


class _Rows(NamedTuple):
    """Spatial mappings, and what makes their keys."""

    unrollings: Ints  # [i, 3] as in an UnrollingTable
    first: Ints  # [row + 1]
    computation: Floats  # [row] pJ of all multiply-accumulates
    exchange: Ints  # [d] the dimension that takes the place of each


def equal_rows(candidates: SpatialCandidates) -> Ints:
    """[row] the row that stands for this one: of its equals the first that drains soonest.

    Raises:
        InputError: if the layer or the accelerator exceeds the capacity of a record.
    """
    problem, table = candidates.problem, candidates.table
    if len(candidates) <= 1:  # needs no kernel
        return np.zeros(len(candidates), np.int64)
    exchange = np.array(exchanged_dimensions(problem), np.int64)
    rows = _Rows(*table, array_energies(problem, table), exchange)
    flat = flatten_problem(problem)
    return _representatives(copy_record(flat), copy_record(flat), rows)


def count_equals(spatial: SpatialProblem, every: SpatialCandidates) -> int:
    """How many other spatial mappings of a table are the same problem as this one.

    Raises:
        InputError: if the layer or the accelerator exceeds the capacity of a record.
    """
    own = UnrollingTable.of(every.problem, [spatial.spatial_mapping])
    problem, table = every.problem, every.table.followed_by(own)
    exchange = np.array(exchanged_dimensions(problem), np.int64)
    left = _leave_as_the_last(flatten_problem(problem), table, exchange)
    both = SpatialCandidates(problem, table.take(np.flatnonzero(left)))
    same = equal_rows(both)
    equal: list[int] = np.flatnonzero(same == same[-1]).tolist()
    return len({both.mapping(row) for row in equal}) - 1


def exchanged_dimensions(problem: MappingProblem) -> list[int]:
    """[d] the loop dimension that takes the place of each, the layer staying as it is.

    Each stays in its place where no exchange is found, or where constraints may tell them apart.
    """
    constraints, layer = problem.constraints, problem.layer
    dimensions = list(range(len(layer.loops)))
    orders = constraints.temporal_ordering, constraints.outer_ordering, constraints.memory_levels
    if any(orders) or problem.held_dimensions:
        return dimensions
    sizes = list(layer.sizes.values())
    pairs = [(a, b) for a, b in combinations(dimensions, 2) if sizes[a] == sizes[b]]
    for chosen in (*((pair,) for pair in pairs), *combinations(pairs, 2)):
        places, exchange = [d for pair in chosen for d in pair], dimensions.copy()
        for a, b in chosen:
            exchange[a], exchange[b] = b, a
        changes = len(set(places)) == len(places) and any(sizes[d] > 1 for d in places)
        if changes and _stays_the_same(layer, exchange):
            return exchange
    return dimensions


def _stays_the_same(layer: Layer, exchange: list[int]) -> bool:
    """Whether the operands have the same indices after an exchange of dimensions."""
    names = list(layer.sizes)
    other = {name: names[d] for name, d in zip(names, exchange, strict=True)}
    for operand in layer.operands:
        before = [
            (tuple((term.dimension, term.coefficient) for term in x.terms), x.size, x.padding)
            for x in operand.indices
        ]
        after = [
            (tuple((other[name], coefficient) for name, coefficient in terms), size, padding)
            for terms, size, padding in before
        ]
        if any(index not in before for index in after):
            return False
    return True


@kernel
def _representatives(problem: FlatProblem, other: FlatProblem, rows: _Rows) -> Ints:
    """[row] looked up in a hash table; both records are scratch."""
    count = len(rows.first) - 1
    slots = np.full(2 * count + 1, -1, np.int64)
    digests, drains = np.zeros(count, np.int64), np.zeros(count)
    same, soonest = np.empty(count, np.int64), np.arange(count)
    keys = np.empty((3, _key_size(problem, int(np.max(np.diff(rows.first))))))
    for row in range(count):
        drains[row] = _put_key(problem, other, rows, row, keys[0], keys[2])
        digests[row] = _digest(keys[0])
        slot = digests[row] % len(slots)
        while slots[slot] >= 0:
            first = int(slots[slot])
            if digests[first] == digests[row]:
                _put_key(problem, other, rows, first, keys[1], keys[2])
                if _compare(keys[1], keys[0]) == 0:
                    break
            slot = (slot + 1) % len(slots)
        if slots[slot] < 0:
            slots[slot] = row
        same[row] = slots[slot]
        if drains[row] < drains[soonest[same[row]]]:
            soonest[same[row]] = row
    return soonest[same]


@kernel
def _leave_as_the_last(problem: FlatProblem, table: UnrollingTable, exchange: Ints) -> Flags:
    """[row] whether it leaves the same iterations in time as the last row: equal rows do."""
    rows = len(table.first) - 1
    leaves = np.ones(rows, np.bool_)
    wanted, left = np.empty(problem.dimensions), np.empty(problem.dimensions)
    temporal_sizes(problem, table.unrollings[table.first[rows - 1] :], wanted)
    for row in range(rows):
        temporal_sizes(problem, table.unrollings[table.first[row] : table.first[row + 1]], left)
        is_same = is_exchanged = True
        for d in range(problem.dimensions):
            is_same = is_same and left[d] == wanted[d]
            is_exchanged = is_exchanged and left[d] == wanted[exchange[d]]
        leaves[row] = is_same or is_exchanged
    return leaves


@kernel
def _key_size(problem: FlatProblem, unrollings: int) -> int:
    """The most numbers of a key with so many unrollings; see :func:`_write_key`."""
    size = 3 + problem.dimensions + VIEWS * (problem.levels[OUT] + 1)
    for x in range(problem.operands):
        size += (problem.levels[x] + 1) * VIEWS * (2 + problem.dimensions)
        size += 2 + unrollings
    return int(size)


@kernel
def _put_key(
    problem: FlatProblem, other: FlatProblem, rows: _Rows, row: int, key: Floats, scratch: Floats
) -> float:
    """Writes what equal rows share; returns the cycles of draining, which they need not share."""
    unrollings = rows.unrollings[rows.first[row] : rows.first[row + 1]]
    put_unrollings(problem, unrollings)
    has_order = not (has_exact_tiles(problem) or has_odd_denominators(problem))
    _write_key(problem, unrollings, rows.computation[row], has_order, key)
    if has_exact_tiles(problem):
        exchanged = unrollings.copy()
        for i in range(len(exchanged)):
            exchanged[i, DIMENSION] = rows.exchange[unrollings[i, DIMENSION]]
        put_unrollings(other, exchanged)
        if _has_same_units(problem, other):
            _write_key(other, exchanged, rows.computation[row], has_order, scratch)
            if _compare(scratch, key) < 0:
                key[:] = scratch
    return float(problem.drain)


@kernel
def has_odd_denominators(problem: FlatProblem) -> bool:
    """Whether no product of unrollings and loops is half a word, and rounding cannot make it one.

    A factor that is not whole is the size of its loop over a whole number.
    """
    for x in range(problem.operands):
        product, most = 1.0, 1.0
        for d in range(problem.dimensions):
            most *= problem.loop_size[d] if problem.relevance[x, d] != IRRELEVANT else 1.0
        for i in range(problem.first_unrolled[x, problem.levels[x] + 1]):
            factor = problem.unrolled_factor[FRACTIONAL, x, i]
            if factor == np.floor(factor):
                continue
            size = int(problem.loop_size[problem.unrolled_dimension[x, i]])
            parts = int(np.rint(size / factor))
            denominator = parts // gcd(size, parts)
            if denominator % 2 == 0 or abs(size / factor - parts) > WHOLE * parts:
                return False
            product *= denominator
        if product * most > EXACT / ROOM:
            return False
    return True


WHOLE = 1e-12
"""How far a quotient that is whole may be off."""

ROOM = 64.0
"""How much smaller than the largest exact numbers products have to be whose terms are rounded."""


@kernel
def _has_same_units(problem: FlatProblem, other: FlatProblem) -> bool:
    """Whether an exchange of dimensions changes nothing but their names."""
    for x in range(problem.operands):
        if problem.step_words[x] != other.step_words[x]:
            return False
        for level in range(problem.levels[x] + 1):
            for view in range(VIEWS):
                if (
                    problem.units[view, x, level] != other.units[view, x, level]
                    or problem.boost[view, x, level] != other.boost[view, x, level]
                ):
                    return False
    return True


@kernel
def _write_key(
    problem: FlatProblem, unrollings: Ints, computation: float, has_order: bool, key: Floats
) -> None:
    """Writes all that kernels read of a spatial mapping, except for ``drain``.

    The factors of each operand, level and dimension; the order of the array only if it matters.
    """
    key[0], key[1], key[2] = computation, problem.views, 1.0 if has_order else 0.0
    temporal_sizes(problem, unrollings, key[3 : 3 + problem.dimensions])
    n = 3 + problem.dimensions
    for view in range(problem.views):
        for level in range(problem.levels[OUT] + 1):
            key[n] = problem.reduced_from[view, level]
            n += 1
    for x in range(problem.operands):
        key[n] = problem.step_words[x]
        n = _write_levels(problem, x, key, n + 1)
        if has_order:
            key[n] = problem.first_unrolled[x, problem.levels[x] + 1]
            for i in range(problem.first_unrolled[x, problem.levels[x] + 1]):
                key[n + 1 + i] = problem.unrolled_dimension[x, i]
            n += 1 + problem.first_unrolled[x, problem.levels[x] + 1]
    key[n:] = 0.0


@kernel
def _write_levels(problem: FlatProblem, x: int, key: Floats, n: int) -> int:
    """Writes the units, the boosts and the factors of an operand; returns the next place."""
    for view in range(problem.views):
        for level in range(problem.levels[x] + 1):
            key[n], key[n + 1] = problem.units[view, x, level], problem.boost[view, x, level]
            n += 2
            for d in range(problem.dimensions):
                key[n + d] = 1.0
            for i in range(problem.first_unrolled[x, level], problem.first_unrolled[x, level + 1]):
                place = n + problem.unrolled_dimension[x, i]
                key[place] = problem.unrolled_factor[view, x, i]
            n += problem.dimensions
    return n


@kernel
def _digest(key: Floats) -> int:
    """A number of at most 31 bits that equal keys share.

    It leaves out the energy in front. All other numbers are small and mostly whole, so an odd
    factor spreads them over all bits.
    """
    digest = 1
    for i in range(1, len(key)):
        digest = (digest * 1_000_003 + int(key[i] * 8191.0)) & 0x7FFFFFFF
    return digest


@kernel
def _compare(one: Floats, other: Floats) -> int:
    """-1, 0 or 1: whether a key is before another, the same, or after it."""
    for i in range(len(one)):
        if one[i] != other[i]:
            return -1 if one[i] < other[i] else 1
    return 0
