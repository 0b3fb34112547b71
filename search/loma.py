"""LOMA: every order of the loop factors, each with its memory allocation.

Source: Symons et al., "LOMA: Fast Auto-Scheduling on DNN Accelerators through Loop-Order-based
Memory Allocation", AICAS 2021; spec section 8.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from nestmap.costmodel.problem import flatten
from nestmap.costmodel.record import new_record
from nestmap.costmodel.report import factor_table
from nestmap.model import (
    Infeasibility,
    MappingBatch,
    MappingType,
    SearchStatistics,
    SpatialProblem,
)
from nestmap.search.allocate import Failures, allocate_rows
from nestmap.search.ordering import pinned_orders
from nestmap.search.permutations import encode, permutations

CHUNK = 8192
"""Orders handled at once: large enough to keep kernels busy, small enough to stay in cache."""


def loma(
    spatial: SpatialProblem, lpf_limit: int | None, mapping_type: MappingType
) -> Iterator[MappingBatch]:
    """All orders of the loop factors that fit the memories, lexicographic, in chunks.

    Those of them, that is, which meet the user's temporal ordering.

    ``lpf_limit`` bounds the number of loop factors (``None``: all prime factors). The last batch
    carries the counts of the orders that do not fit.
    """
    failures, even = new_record(Failures), mapping_type is MappingType.EVEN
    problem = flatten(spatial)
    for pinned, free in pinned_orders(spatial, lpf_limit):
        factors, codes = encode((*pinned, *free))
        table = factor_table(spatial, factors)
        for orders in permutations(codes, len(pinned), CHUNK):
            kept, cuts = allocate_rows(problem, table, orders, even, failures)
            if len(kept):
                yield MappingBatch(spatial, factors, kept, cuts)
    yield MappingBatch.empty(spatial, explain(spatial, failures))


def explain(spatial: SpatialProblem, failures: Failures) -> SearchStatistics:
    """The failures in words: which memory is too small for what, and by how much."""
    by_memory_operand = {m: operand for operand, m in spatial.problem.links.items()}
    reasons: list[Infeasibility] = []
    for m, memory in enumerate(spatial.accelerator.memories):
        names = [by_memory_operand[o] for o in memory.operands if o in by_memory_operand]
        for i in np.flatnonzero(failures.orders[m]):
            what = names[i] if i < len(names) else " and ".join(names)
            reason = (
                f"{memory.name} too small for {what}: "
                f"needs at least {int(failures.need[m, i])} bit, has {memory.instance.size}"
            )
            reasons.append(Infeasibility(reason=reason, count=int(failures.orders[m, i])))
    return SearchStatistics(infeasible=tuple(reasons))
