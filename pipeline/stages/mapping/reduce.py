"""Reducers: a stream of evaluations into one result.

Those that keep more than the best stand in ``front.py``: what ZigZag's stages do with
``reduce_minimal_keep_others`` is ``BestFirstStage``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import TypeVar, final

from nestmap.costmodel.evaluate import evaluate
from nestmap.model import (
    CostModelEvaluation,
    EvaluationBatch,
    Frozen,
    InfeasibleError,
    LayerResult,
    MappingProblem,
    NetworkEvaluation,
    Objective,
    SearchStatistics,
    SpatialProblem,
    TemporalMapping,
)
from nestmap.model.base import replaced
from nestmap.pipeline.stage_graph import Stage
from nestmap.search import best_of

A = TypeVar("A")


class MinimalEnergyStage(Frozen, Stage[Iterable[EvaluationBatch], EvaluationBatch], frozen=True):
    """The evaluation with the least energy (of equals the least latency, then the first)."""

    def __call__(self, evaluations: Iterable[EvaluationBatch], /) -> EvaluationBatch:
        return best_of(evaluations, Objective.ENERGY)


class MinimalLatencyStage(Frozen, Stage[Iterable[EvaluationBatch], EvaluationBatch], frozen=True):
    """The evaluation with the least latency (of equals the least energy, then the first)."""

    def __call__(self, evaluations: Iterable[EvaluationBatch], /) -> EvaluationBatch:
        return best_of(evaluations, Objective.LATENCY)


class MinimalEDPStage(Frozen, Stage[Iterable[EvaluationBatch], EvaluationBatch], frozen=True):
    """The evaluation with the least energy x latency (of equals the least energy)."""

    def __call__(self, evaluations: Iterable[EvaluationBatch], /) -> EvaluationBatch:
        return best_of(evaluations, Objective.EDP)


def minimal(objective: Objective) -> Stage[Iterable[EvaluationBatch], EvaluationBatch]:
    """The reducer for an objective."""
    match objective:
        case Objective.ENERGY:
            return MinimalEnergyStage()
        case Objective.LATENCY:
            return MinimalLatencyStage()
        case Objective.EDP:
            return MinimalEDPStage()


Costing = Callable[[SpatialProblem, TemporalMapping], CostModelEvaluation]
"""What says what a mapping costs in full: the cost model, or who knows what it has said."""


@final
@dataclass(frozen=True, slots=True)
class SumStage(Stage[Iterable[EvaluationBatch], NetworkEvaluation]):
    """The best evaluation of each layer in full, and their sum.

    Raises:
        InfeasibleError: at the first layer of which no mapping fits: which memory is too small.
    """

    cost: Costing = evaluate

    def __call__(self, evaluations: Iterable[EvaluationBatch], /) -> NetworkEvaluation:
        return NetworkEvaluation(layers=tuple(_results(evaluations, self.cost)))


def _results(evaluations: Iterable[EvaluationBatch], cost: Costing) -> Iterator[LayerResult]:
    """The results of the layers; what has the same content and mapping is costed once."""
    costed: dict[object, CostModelEvaluation] = {}
    for batch in evaluations:
        spatial = batch.mappings.problem
        if not len(batch):
            raise no_mapping_fits(spatial.problem, batch.statistics)
        mapping = batch.mappings.row(0)
        content = (spatial.problem.content, spatial.spatial_mapping, mapping)
        first = costed.get(content)
        if first is None:
            costed[content] = cost(spatial, mapping)
            yield LayerResult(cme=costed[content], statistics=batch.statistics)
        else:
            cme = replaced(first, {"layer": spatial.layer.name})
            yield LayerResult(cme=cme, statistics=batch.statistics, repeats=first.layer)


def no_mapping_fits(problem: MappingProblem, statistics: SearchStatistics) -> InfeasibleError:
    """The error for a layer that fits nowhere: which memory is too small for what."""
    reasons = "; ".join(f"{x.reason} ({x.count} orders)" for x in statistics.infeasible)
    return InfeasibleError(
        f"layer {problem.layer.name}: no loop order fits {problem.accelerator.name}: {reasons}"
    )


class ListifyStage(Stage[Iterable[A], tuple[A, ...]]):
    """All items of a stream at once."""

    def __call__(self, items: Iterable[A], /) -> tuple[A, ...]:
        return tuple(items)


class FlattenStage(Stage[Iterable[Iterable[A]], Iterator[A]]):
    """A stream of streams as one, lazily: all evaluations of a layer, whatever spatial mapping."""

    def __call__(self, streams: Iterable[Iterable[A]], /) -> Iterator[A]:
        return chain.from_iterable(streams)
