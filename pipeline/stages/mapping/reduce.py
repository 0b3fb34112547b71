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
from nestmap.model.base import copy_with
from nestmap.pipeline.stage_graph import Stage
from nestmap.search import best_of

A = TypeVar("A")
R = TypeVar("R")


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

    def first(batch: EvaluationBatch) -> LayerResult:
        cme = cost(batch.mappings.problem, batch.mappings.row(0))
        return LayerResult(cme=cme, statistics=batch.statistics)

    return costed_once(evaluations, _content, first, _repeated)


def _content(batch: EvaluationBatch) -> tuple[object, ...]:
    spatial = batch.mappings.problem
    if not len(batch):
        raise no_mapping_fits(spatial.problem, batch.statistics)
    return spatial.problem.content, spatial.spatial_mapping, batch.mappings.row(0)


def _repeated(first: LayerResult, batch: EvaluationBatch) -> LayerResult:
    cme = copy_with(first.cme, {"layer": batch.mappings.problem.layer.name})
    return LayerResult(cme=cme, statistics=batch.statistics, repeats=first.cme.layer)


def costed_once(
    items: Iterable[A],
    content: Callable[[A], object],
    cost: Callable[[A], R],
    repeat: Callable[[R, A], R],
) -> Iterator[R]:
    """The cost of each item, lazily; of the same content as an earlier one that cost, repeated."""
    costed: dict[object, R] = {}
    for item in items:
        key = content(item)
        if key in costed:
            yield repeat(costed[key], item)
        else:
            costed[key] = cost(item)
            yield costed[key]


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
