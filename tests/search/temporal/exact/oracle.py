"""The optimum of a small problem by brute force: every order of all primes with all cuts that fit.

It knows nothing of the exact search. What fits is decided by the rule of the memory allocation,
what a mapping costs by the cost model; the rest is enumeration.
"""

from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from itertools import combinations_with_replacement
from math import comb, prod

import numpy as np

from nestmap.costmodel.evaluate import evaluate_batch, factor_table
from nestmap.costmodel.flatten import flatten
from nestmap.costmodel.kernel.record import new_record
from nestmap.model import EvaluationBatch, MappingBatch, MappingType, Objective, SpatialProblem
from nestmap.model.arrays import Codes, Flags, Ints
from nestmap.search.temporal.memory_allocation import Failures, fits_rows
from nestmap.search.temporal.ordering import PinnedOrder, pinned_orders
from nestmap.search.temporal.permutations import count_permutations, encode
from nestmap.search.temporal.pinned import pinned_mapping

CHUNK = 2**15
"""Rows that are in memory at a time."""

Point = tuple[float, float]
"""Energy in pJ and latency in cycles."""


@dataclass(frozen=True)
class Truth:
    """What brute force finds: the least value of each objective, and the Pareto front.

    ``rows`` is the number of mappings looked at, ``fitting`` that of those which fit; if none does,
    there are no optima, and the front is empty.
    """

    rows: int
    fitting: int
    optima: dict[Objective, float]
    front: frozenset[Point]


def truth(spatial: SpatialProblem, mapping_type: MappingType) -> Truth:
    """The optima over all orders and cuts that meet the user's temporal ordering."""
    rows, fitting, optima, front = 0, 0, dict[Objective, float](), frozenset[Point]()
    for batch in all_mappings(spatial):
        kept = evaluate_batch(feasible(batch, mapping_type))
        rows, fitting = rows + len(batch), fitting + len(kept)
        if len(kept):
            optima = {x: min(optima.get(x, np.inf), least(kept, x)) for x in Objective}
            front = pareto(front | pareto(points(kept)))
    return Truth(rows, fitting, optima, front)


def least(batch: EvaluationBatch, objective: Objective) -> float:
    """The least value of the objective among the rows; infinite if there is none."""
    return float(batch.values(objective).min(initial=np.inf))


def points(batch: EvaluationBatch) -> set[Point]:
    """The different costs of the rows."""
    return set(zip(batch.energy.tolist(), batch.latency2.tolist(), strict=True))


def pareto(costs: AbstractSet[Point]) -> frozenset[Point]:
    """The non-dominated points."""
    front, lowest = list[Point](), float("inf")
    for energy, latency in sorted(costs):
        if latency < lowest:
            front.append((energy, latency))
            lowest = latency
    return frozenset(front)


def feasible(batch: MappingBatch, mapping_type: MappingType) -> MappingBatch:
    """The rows that fit their memories and, where asked for, are even."""
    spatial = batch.problem
    table, failures = factor_table(spatial, batch.factors), new_record(Failures)
    fitting = fits_rows(flatten(spatial), table, batch.orders, batch.cuts, failures)
    if mapping_type is MappingType.EVEN:
        fitting &= are_even(batch)
    return batch.take(np.flatnonzero(fitting))


def are_even(batch: MappingBatch) -> Flags:
    """Which rows leave each memory at one loop, except operands that memories below hold further.

    An operand at its top level leaves it at the outermost loop.
    """
    spatial, even = batch.problem, np.ones(len(batch), np.bool_)
    for level in spatial.accelerator.memories:
        below, ends = list[Ints](), list[Ints]()
        for x, operand in enumerate(spatial.layer.operands):
            memories = spatial.problem.levels(operand.name)
            if level in memories:
                cuts = np.pad(batch.cuts[:, x].astype(np.int64), ((0, 0), (1, 0)))
                place = memories.index(level)
                below.append(cuts[:, place])
                ends.append(cuts[:, place + 1])
        starts, stops = np.array(below), np.array(ends)
        common = np.where(stops > starts, stops, 0).max(axis=0, initial=0)
        even &= (stops == np.maximum(starts, common)).all(axis=0)
    return even


def count_mappings(spatial: SpatialProblem) -> int:
    """The number of rows of :func:`all_mappings`."""
    if pinned_mapping(spatial) is not None:
        return 1
    return sum(
        count_permutations(way.free)
        * prod(comb(len(way.loops) + inner, inner) for inner in inner_levels(spatial))
        for way in pinned_orders(spatial, None)
    )


def inner_levels(spatial: SpatialProblem) -> list[int]:
    """The levels of each operand below its top level."""
    return [len(spatial.problem.levels(x.name)) - 1 for x in spatial.layer.operands]


def all_mappings(spatial: SpatialProblem) -> Iterator[MappingBatch]:
    """Every distinct order of all prime factors with every ascending cut of every operand.

    Where the user pins memory levels, there is only that mapping.
    """
    pinned = pinned_mapping(spatial)
    if pinned is not None:
        yield MappingBatch.of(spatial, pinned)
        return
    for way in pinned_orders(spatial, None):
        factors, codes = encode(way.loops)
        orders, cuts = distinct_orders(way, codes), all_cuts(spatial, len(codes))
        for start in range(0, len(orders) * len(cuts), CHUNK):
            rows = np.arange(start, min(start + CHUNK, len(orders) * len(cuts)))
            order, cut = np.divmod(rows, len(cuts))
            yield MappingBatch(spatial, factors, orders[order], cuts[cut])


def distinct_orders(way: PinnedOrder, codes: Codes) -> Codes:
    """The orders of the codes in which only the free ones move."""
    inner, outer = len(way.inner), len(codes) - len(way.outer)
    middle = np.array(arrangements(sorted(codes[inner:outer].tolist())), np.uint8)
    head, tail = (np.tile(part, (len(middle), 1)) for part in (codes[:inner], codes[outer:]))
    return np.hstack([head, middle, tail])


def arrangements(codes: list[int]) -> list[tuple[int, ...]]:
    """The distinct orders of some numbers.

    >>> arrangements([1, 1, 2])
    [(1, 1, 2), (1, 2, 1), (2, 1, 1)]
    """
    if not codes:
        return [()]
    found: list[tuple[int, ...]] = []
    for code in sorted(set(codes)):
        left = codes.copy()
        left.remove(code)
        found += ((code, *rest) for rest in arrangements(left))
    return found


def all_cuts(spatial: SpatialProblem, loops: int) -> Codes:
    """Every combination of ascending cuts (rows x operands x levels); all loops at the top."""
    below = inner_levels(spatial)
    ways = [
        np.array(
            [
                (*cuts, *[loops] * (max(below) + 1 - inner))
                for cuts in combinations_with_replacement(range(loops + 1), inner)
            ],
            np.uint8,
        )
        for inner in below
    ]
    choices = np.indices([len(way) for way in ways]).reshape(len(ways), -1)
    return np.stack([way[rows] for way, rows in zip(ways, choices, strict=True)], axis=1)
