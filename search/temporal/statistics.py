"""The statistics that searches for temporal mappings report: infeasibilities and bounds."""

from dataclasses import replace

import numpy as np

from nestmap.model import Infeasibility, MappingBatch, SearchStatistics, SpatialProblem
from nestmap.search.spatial.lower_bounds import lower_bounds
from nestmap.search.temporal.memory_allocation import NOT_HELD, Failures


def infeasibility_statistics(spatial: SpatialProblem, failures: Failures) -> SearchStatistics:
    """The failures in words: the memory, the operands that exceed it, and the bits required."""
    dataflow = spatial.problem.constraints.dataflow
    wanted = f" with {dataflow}" if dataflow else ""
    by_memory_operand = {m: operand for operand, m in spatial.problem.links.items()}
    reasons: list[Infeasibility] = []
    for m, memory in enumerate(spatial.accelerator.memories):
        names = [by_memory_operand[o] for o in memory.operands if o in by_memory_operand]
        for i in np.flatnonzero(failures.orders[m]):
            what = names[i] if i < len(names) else " and ".join(names)
            output, need = spatial.layer.output, int(failures.need[m, i])
            is_one_sum = what == output.name and output.precision < need == output.partial_precision
            sums = f" (sums of {need} bit: --sum-bits)" if is_one_sum else ""
            reason = (
                f"{memory.name} too small for {what}{wanted}: "
                f"needs at least {need} bit{sums}, has {spatial.problem.room_in(memory)}"
            )
            if i == NOT_HELD:
                reason = f"{memory.name} does not hold the loops that {dataflow} keeps in it"
            reasons.append(Infeasibility(reason=reason, count=int(failures.orders[m, i])))
    return SearchStatistics(infeasible=tuple(reasons))


def add_failures(failures: Failures, more: Failures) -> None:
    """Adds failures; keeps the smaller of two required sizes."""
    known, new = failures.orders > 0, more.orders > 0
    failures.need[new & ~known] = more.need[new & ~known]
    failures.need[new & known] = np.minimum(failures.need, more.need)[new & known]
    failures.orders[new] += more.orders[new]


def with_bounds(batch: MappingBatch) -> MappingBatch:
    """The last batch of a search, with lower bounds over all temporal mappings of its problem.

    The space of each search is a part of these, so the bounds hold for all of them.

    Raises:
        InputError: if the layer or the accelerator exceeds the capacity of a record.
    """
    bounds = SearchStatistics(bounds=lower_bounds(batch.problem))
    return replace(batch, statistics=batch.statistics + bounds)
