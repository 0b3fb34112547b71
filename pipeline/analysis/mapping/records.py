"""The cost model's records of one mapping, with the totals that a model of it would have."""

from __future__ import annotations

from typing import NamedTuple

from nestmap.costmodel.busy_ports import stall_of
from nestmap.costmodel.evaluate import factor_table
from nestmap.costmodel.evaluate_rows import evaluate_row, latencies, load_row
from nestmap.costmodel.flat_problem import FlatProblem
from nestmap.costmodel.flatten import flatten
from nestmap.costmodel.kernel.record import new_record
from nestmap.costmodel.kernel.work import Totals, Work
from nestmap.model import MappingBatch, SpatialProblem, TemporalMapping


class Evaluated(NamedTuple):
    """The records of a mapping: what is evaluated, all intermediate quantities, the totals."""

    problem: FlatProblem
    work: Work
    totals: Totals

    @property
    def latency(self) -> float:
        """The total latency, in cycles."""
        return float(latencies(self.problem, self.totals)[-1])

    @property
    def dynamic_energy(self) -> float:
        """Energy of computation and memories, in pJ."""
        return float(self.totals.mac_energy + self.totals.memory_energy)

    @property
    def static_energy(self) -> float:
        """Leakage energy while the layer runs, in pJ."""
        return float(self.problem.leakage * self.latency)

    @property
    def stall(self) -> int:
        """Cycles in which the array waits for a port."""
        return int(self.totals.stall)

    def stall_of(self, port: int) -> int:
        """The stall of a port (by position), or its slack where negative, in cycles."""
        return int(stall_of(self.problem, self.work, port))


def evaluated(
    spatial: SpatialProblem, temporal: TemporalMapping, problem: FlatProblem | None = None
) -> Evaluated:
    """The records that the cost model's kernels compute for the mapping.

    ``problem`` is another record than that of ``spatial``, with the same layer and memory levels.
    """
    problem = flatten(spatial) if problem is None else problem
    batch, work = MappingBatch.of(spatial, temporal), new_record(Work)
    load_row(work, factor_table(spatial, batch.factors), batch.orders[0], batch.cuts[0])
    return Evaluated(problem, work, evaluate_row(problem, work))
