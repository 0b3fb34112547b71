"""What the evaluations of one layer under one spatial mapping in one run share."""

from __future__ import annotations

from collections import Counter
from typing import final
from uuid import UUID

import pyarrow as pa

from nestmap.model import EvaluationBatch, SearchStatistics
from nestmap.store.columns import levels_of, to_arrow
from nestmap.store.content import Row, loop_structs


@final
class Search:
    """A row of ``searches``, and what has been recorded for it.

    ``rows`` counts its evaluations; ``infeasible`` the failed candidates that are not yet
    written, by reason.
    """

    def __init__(self, number: int, batch: EvaluationBatch) -> None:
        self.id = number
        self.problem = batch.mappings.problem
        self.factors = batch.mappings.factors
        self.ideal_cycles = batch.ideal_cycles
        self.levels = levels_of(self.problem)
        self.rows = 0
        self.infeasible: Counter[str] = Counter()

    def is_of(self, batch: EvaluationBatch) -> bool:
        """Whether the batch belongs here; ``False`` also where only a long look would tell."""
        return batch.mappings.problem is self.problem and batch.mappings.factors == self.factors

    def take(self, batch: EvaluationBatch) -> pa.Table:
        """The batch as rows of ``evaluation_rows``."""
        columns = to_arrow(batch, self.levels, search=self.id, first=self.rows)
        self.rows += len(batch)
        return columns

    def count(self, statistics: SearchStatistics) -> None:
        """Adds the failed candidates."""
        for entry in statistics.infeasible:
            self.infeasible[entry.reason] += entry.count

    def row(self, run: UUID) -> Row:
        """The row of ``searches``."""
        operands: list[Row] = []
        last = 0
        for operand, levels in zip(self.problem.layer.operands, self.levels, strict=True):
            operands.append({"operand": operand.name, "first": last + 1, "last": last + levels})
            last += levels
        return {
            "id": self.id,
            "run": str(run),
            "layer": self.problem.layer.name,
            "accelerator": self.problem.accelerator.content_hash,
            "spatial_mapping": self.problem.spatial_mapping.content_hash,
            "constraints": self.problem.problem.constraints.model_dump_json(),
            "factors": loop_structs(self.factors),
            "operands": operands,
            "ideal_cycles": self.ideal_cycles,
        }

    def infeasible_rows(self) -> list[Row]:
        """The rows of ``infeasible`` that are not yet written."""
        counts = self.infeasible.items()
        return [{"search": self.id, "reason": reason, "count": count} for reason, count in counts]
