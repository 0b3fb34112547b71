"""Layers that several networks have: explored once on each accelerator."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import final

from nestmap.costmodel.evaluate import evaluate
from nestmap.model import (
    CostModelEvaluation,
    EvaluationBatch,
    MappingProblem,
    SpatialProblem,
    TemporalMapping,
)
from nestmap.model.mapping.problem import ProblemContent
from nestmap.pipeline.stages.mapping.recall import Choose, Entry, Explore


@final
class SharedLayers:
    """A ledger in memory, for all networks on one accelerator under one plan."""

    def __init__(self) -> None:
        self._found: dict[ProblemContent, EvaluationBatch] = {}

    def explored(
        self, problem: MappingProblem, options: str, explore: Explore, choose: Choose
    ) -> EvaluationBatch:
        """The best evaluation of a layer, explored when it is first asked for."""
        content = problem.content
        if content in self._found:
            return self._found[content].for_layer(problem.layer)
        found = self._found[content] = explore(problem)
        return found

    def recall(self, spatial: SpatialProblem, options: str) -> None:
        """Searches are not kept."""

    def searching(self, spatial: SpatialProblem, options: str) -> AbstractContextManager[Entry]:
        """Searches are not kept."""
        return nullcontext(_NO_ENTRY)

    def cost(self, spatial: SpatialProblem, mapping: TemporalMapping) -> CostModelEvaluation:
        """The evaluation of a mapping."""
        return evaluate(spatial, mapping)


@final
class _NoEntry:
    """Records nothing."""

    def record(self, batch: EvaluationBatch) -> None:
        """Records nothing."""


_NO_ENTRY = _NoEntry()
