"""Reducers: from a stream of evaluations to one result.

Reducers that keep several evaluations are in ``front.py``; ``BestFirstStage`` there corresponds to
ZigZag's ``reduce_minimal_keep_others``.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TypeVar, final

from nestmap.costmodel.evaluate import evaluate
from nestmap.model import (
    CostModelEvaluation,
    EvaluationBatch,
    Frozen,
    InfeasibleError,
    InfeasibleLayer,
    LayerResult,
    MappingProblem,
    NetworkEvaluation,
    Objective,
    SearchStatistics,
    SpatialProblem,
    TemporalMapping,
)
from nestmap.model.base import copy_with
from nestmap.model.evaluation.objective import objective_bound
from nestmap.pipeline.stage_graph import Stage
from nestmap.search import best_of

# --- layers for which a search found no mapping that fits ---


def infeasible_layer(
    problem: MappingProblem, statistics: SearchStatistics, greedy: bool = False
) -> InfeasibleLayer:
    """A layer without a feasible mapping, with the memories that overflow.

    Memory levels that the user pins leave a ``greedy`` search no other allocation either.
    """
    return InfeasibleLayer(
        layer=problem.layer.name,
        operator=problem.layer.operator,
        accelerator=problem.accelerator.name,
        causes=statistics.infeasible,
        greedy=greedy and not problem.constraints.memory_levels,
    )


def repeated_infeasible(known: InfeasibleLayer, name: str) -> InfeasibleLayer:
    """The same for a layer of equal content, which is not searched."""
    return copy_with(known, {"layer": name, "repeats": known.repeats or known.layer})


def check_any_feasible(feasible: int, infeasible: Sequence[InfeasibleLayer]) -> None:
    """Checks that some layer has a mapping; a network without layers passes.

    Raises:
        InfeasibleError: where all layers are infeasible.
    """
    if feasible or not infeasible:
        return
    others = len(infeasible) - 1
    named = "layer" if others == 1 else "layers"
    rest = f" (and no mapping fits the {others} other {named})" if others else ""
    raise InfeasibleError(f"{infeasible[0].message}{rest}")


A = TypeVar("A")
R = TypeVar("R")


class MinimalEnergyStage(Frozen, Stage[Iterable[EvaluationBatch], EvaluationBatch], frozen=True):
    """The evaluation with the lowest energy (ties: the lowest latency, then the first)."""

    def __call__(self, evaluations: Iterable[EvaluationBatch], /) -> EvaluationBatch:
        return best_of(evaluations, Objective.ENERGY)


class MinimalLatencyStage(Frozen, Stage[Iterable[EvaluationBatch], EvaluationBatch], frozen=True):
    """The evaluation with the lowest latency (ties: the lowest energy, then the first)."""

    def __call__(self, evaluations: Iterable[EvaluationBatch], /) -> EvaluationBatch:
        return best_of(evaluations, Objective.LATENCY)


class MinimalEDPStage(Frozen, Stage[Iterable[EvaluationBatch], EvaluationBatch], frozen=True):
    """The evaluation with the lowest energy x latency (ties: the lowest energy)."""

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
"""A function that evaluates a mapping in full: the cost model, or a ledger with its results."""


@final
@dataclass(frozen=True, slots=True)
class SumStage(Stage[Iterable[EvaluationBatch], NetworkEvaluation]):
    """The full evaluation of the best mapping of each layer, and their sum.

    With the ``objective`` for which the mappings were chosen, results have its lower bound. Layers
    without a feasible mapping are listed with the reasons; ``greedy`` says that the search tried
    one allocation for each order.

    Raises:
        InfeasibleError: where no layer has a feasible mapping; it names the memories that are too
            small.
    """

    cost: Costing = evaluate
    objective: Objective | None = None
    greedy: bool = False

    def __call__(self, evaluations: Iterable[EvaluationBatch], /) -> NetworkEvaluation:
        def first(batch: EvaluationBatch) -> LayerResult | InfeasibleLayer:
            spatial = batch.mappings.problem
            if not len(batch):
                return infeasible_layer(spatial.problem, batch.statistics, self.greedy)
            return self._result(self.cost(spatial, batch.mappings.row(0)), batch.statistics)

        def repeated(
            known: LayerResult | InfeasibleLayer, batch: EvaluationBatch
        ) -> LayerResult | InfeasibleLayer:
            name = batch.mappings.problem.layer.name
            if isinstance(known, InfeasibleLayer):
                return repeated_infeasible(known, name)
            cme = copy_with(known.cme, {"layer": name})
            return self._result(cme, batch.statistics, repeats=known.cme.layer)

        found = list(costed_once(evaluations, _content, first, repeated))
        infeasible = tuple(x for x in found if isinstance(x, InfeasibleLayer))
        layers = tuple(x for x in found if isinstance(x, LayerResult))
        check_any_feasible(len(layers), infeasible)
        return NetworkEvaluation(layers=layers, infeasible=infeasible)

    def _result(
        self, cme: CostModelEvaluation, statistics: SearchStatistics, repeats: str | None = None
    ) -> LayerResult:
        bound = None
        if self.objective is not None:
            bound = objective_bound(statistics.bounds, self.objective)
        return LayerResult(cme=cme, statistics=statistics, repeats=repeats, bound=bound)


def _content(batch: EvaluationBatch) -> tuple[object, ...]:
    spatial = batch.mappings.problem
    if not len(batch):
        return (spatial.problem.content,)
    return spatial.problem.content, spatial.spatial_mapping, batch.mappings.row(0)


def costed_once(
    items: Iterable[A],
    content: Callable[[A], object],
    cost: Callable[[A], R],
    repeat: Callable[[R, A], R],
) -> Iterator[R]:
    """The cost of each item, lazily; items of equal content repeat the cost of the first one."""
    costed: dict[object, R] = {}
    for item in items:
        key = content(item)
        if key in costed:
            yield repeat(costed[key], item)
        else:
            costed[key] = cost(item)
            yield costed[key]


class ListifyStage(Stage[Iterable[A], tuple[A, ...]]):
    """Collects all items of a stream in a tuple."""

    def __call__(self, items: Iterable[A], /) -> tuple[A, ...]:
        return tuple(items)


class FlattenStage(Stage[Iterable[Iterable[A]], Iterator[A]]):
    """Flattens a stream of streams, lazily: one stream for all spatial mappings of a layer."""

    def __call__(self, streams: Iterable[Iterable[A]], /) -> Iterator[A]:
        return chain.from_iterable(streams)


class StreamOfOneStage(Stage[A, tuple[A]]):
    """A stream of one item."""

    def __call__(self, item: A, /) -> tuple[A]:
        return (item,)
