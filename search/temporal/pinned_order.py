"""Allocates memories for one loop order with LOMA."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from nestmap.costmodel.evaluate import factor_table
from nestmap.costmodel.flatten import flatten
from nestmap.costmodel.kernel.record import new_record
from nestmap.model import Loop, MappingBatch, SpatialProblem
from nestmap.search.temporal.infeasibility import infeasibility_statistics
from nestmap.search.temporal.memory_allocation import Failures, allocate_rows


def allocate_order(spatial: SpatialProblem, order: Sequence[Loop]) -> MappingBatch:
    """A batch with that order and its memory allocation; empty if the memories are too small.

    ``order`` has the innermost loop first and covers all temporal iterations. The statistics of an
    empty batch tell which memory is too small for which operands.
    """
    factors, failures = tuple(dict.fromkeys(order)), new_record(Failures)
    codes = np.array([[factors.index(loop) for loop in order]], np.uint8)
    table = factor_table(spatial, factors)
    orders, cuts = allocate_rows(flatten(spatial), table, codes, False, failures)
    if not len(orders):
        return MappingBatch.empty(spatial, infeasibility_statistics(spatial, failures))
    return MappingBatch(spatial, factors, orders, cuts)
