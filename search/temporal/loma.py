"""LOMA: every order of the loop factors, each with its memory allocation.

Source: Symons et al., "LOMA: Fast Auto-Scheduling on DNN Accelerators through Loop-Order-based
Memory Allocation", AICAS 2021. Formulas: docs/cost-model.md#memory-allocation
"""

from collections.abc import Iterator
from typing import final

from nestmap.costmodel.evaluate import factor_table
from nestmap.costmodel.flatten import flatten
from nestmap.costmodel.kernel.record import new_record
from nestmap.model import Loop, MappingBatch, MappingType, SpatialProblem
from nestmap.model.arrays import Codes
from nestmap.search.parallel import map_in_order
from nestmap.search.temporal.loop_factors import loop_factors
from nestmap.search.temporal.memory_allocation import Failures, allocate_rows
from nestmap.search.temporal.ordering import pinned_orders
from nestmap.search.temporal.permutations import count_permutations, encode, permutations
from nestmap.search.temporal.pinned import pinned_batch, pinned_mapping
from nestmap.search.temporal.statistics import add_failures, infeasibility_statistics, with_bounds

CHUNK = 8192
"""Orders per chunk: large enough to keep kernels busy, small enough to fit the cache."""


def loma(
    spatial: SpatialProblem, lpf_limit: int | None, mapping_type: MappingType, workers: int = 1
) -> Iterator[MappingBatch]:
    """All feasible orders of the loop factors, lexicographic, in chunks.

    Only orders that meet the user's temporal ordering are included; with pinned memory levels there
    is only that one mapping.

    ``lpf_limit`` bounds the number of loop factors (``None``: all prime factors). ``workers``
    chunks are allocated in parallel; the result does not depend on their number. The last batch
    carries the counts of infeasible orders and the lower bounds.
    """
    pinned_one = pinned_batch(spatial)
    if pinned_one is not None:
        yield with_bounds(pinned_one)
        return
    for batch in feasible_orders(spatial, lpf_limit, mapping_type, workers):
        yield batch if len(batch) else with_bounds(batch)


def loma_order_count(spatial: SpatialProblem, lpf_limit: int | None) -> int:
    """The number of orders that :func:`loma` tries, feasible or not.

    Raises:
        InputError: if the user's temporal ordering is unsatisfiable.
    """
    if pinned_mapping(spatial) is not None:
        return 1
    return sum(count_permutations(pinned.free) for pinned in pinned_orders(spatial, lpf_limit))


def loma_limits(spatial: SpatialProblem, lpf_limit: int | None) -> tuple[int | None, ...]:
    """The limits up to ``lpf_limit`` that lead to different loop factors, the highest first.

    Raises:
        InputError: if the user's temporal ordering is unsatisfiable.
    """
    if pinned_mapping(spatial) is not None:
        return (lpf_limit,)
    limits: list[int | None] = [lpf_limit]
    known = list(pinned_orders(spatial, lpf_limit))
    most = len(loop_factors(spatial, None))
    for limit in range(min(most, lpf_limit or most) - 1, 0, -1):
        orders = list(pinned_orders(spatial, limit))
        if orders != known:
            limits.append(limit)
            known = orders
    return tuple(limits)


def feasible_orders(
    spatial: SpatialProblem, lpf_limit: int | None, mapping_type: MappingType, workers: int = 1
) -> Iterator[MappingBatch]:
    """The orders of :func:`loma` without pinned memory levels and without bounds.

    Only the last batch is empty; it carries the counts of infeasible orders.
    """
    failures, even = new_record(Failures), mapping_type is MappingType.EVEN
    for pinned in pinned_orders(spatial, lpf_limit):
        factors, codes = encode(pinned.loops)
        chunks = permutations(codes, inner=len(pinned.inner), outer=len(pinned.outer), chunk=CHUNK)
        for batch, failed in map_in_order(_Allocation(spatial, factors, even), chunks, workers):
            add_failures(failures, failed)
            if len(batch):
                yield batch
    yield MappingBatch.empty(spatial, infeasibility_statistics(spatial, failures))


@final
class _Allocation:
    """The memory allocation of loop orders: the feasible ones, and why the others are not."""

    def __init__(self, spatial: SpatialProblem, factors: tuple[Loop, ...], even: bool) -> None:
        self._spatial, self._factors, self._even = spatial, factors, even
        self._problem, self._table = flatten(spatial), factor_table(spatial, factors)

    def __call__(self, orders: Codes) -> tuple[MappingBatch, Failures]:
        failures = new_record(Failures)
        kept, cuts = allocate_rows(self._problem, self._table, orders, self._even, failures)
        return MappingBatch(self._spatial, self._factors, kept, cuts), failures
