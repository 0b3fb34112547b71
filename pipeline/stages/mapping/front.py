"""Reducers that keep several evaluations: the Pareto front, the k best, or all in order."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import final

from pydantic import PositiveInt

from nestmap.costmodel.evaluate import evaluate
from nestmap.model import (
    EvaluationBatch,
    Frozen,
    InfeasibleLayer,
    LayerFront,
    NetworkFront,
    Objective,
)
from nestmap.model.base import copy_with
from nestmap.pipeline.stage_graph import Stage
from nestmap.pipeline.stages.mapping.infeasible import (
    check_any_feasible,
    infeasible_layer,
    repeated_infeasible,
)
from nestmap.pipeline.stages.mapping.reduce import Costing, costed_once
from nestmap.search import Shortlist, best_first, k_best, pareto_front


class ParetoStage(Frozen, Stage[Iterable[EvaluationBatch], Shortlist], frozen=True):
    """The Pareto front in energy and latency, in ascending order of energy.

    To get one front over all spatial mappings of a layer, apply ``FlattenStage`` first.
    """

    def __call__(self, evaluations: Iterable[EvaluationBatch], /) -> Shortlist:
        return pareto_front(evaluations)


@final
@dataclass(frozen=True, slots=True)
class FrontSumStage(Stage[Iterable[Shortlist], NetworkFront]):
    """The Pareto front of each layer, with a full evaluation of every point.

    Layers without a feasible mapping are listed with the reasons; ``greedy`` says that the search
    tried one allocation for each order.

    Raises:
        InfeasibleError: where no layer has a feasible mapping; it names the memories that are too
            small.
    """

    cost: Costing = evaluate
    greedy: bool = False

    def __call__(self, fronts: Iterable[Shortlist], /) -> NetworkFront:
        found = list(self._layer_fronts(fronts))
        infeasible = tuple(x for x in found if isinstance(x, InfeasibleLayer))
        layers = tuple(x for x in found if isinstance(x, LayerFront))
        check_any_feasible(len(layers), infeasible)
        return NetworkFront(layers=layers, infeasible=infeasible)

    def _layer_fronts(self, fronts: Iterable[Shortlist]) -> Iterator[LayerFront | InfeasibleLayer]:
        """The fronts of the layers; equal content and mappings are evaluated once."""

        def first(front: Shortlist) -> LayerFront | InfeasibleLayer:
            if not front.rows:
                return infeasible_layer(front.problem, front.statistics, self.greedy)
            mappings = (row.mappings for row in front.rows)
            cmes = tuple(self.cost(mapping.problem, mapping.row(0)) for mapping in mappings)
            return LayerFront(cmes=cmes, statistics=front.statistics)

        return costed_once(fronts, _content, first, _repeated)


def _content(front: Shortlist) -> tuple[object, ...]:
    rows = (row.mappings for row in front.rows)
    return front.problem.content, tuple((x.problem.spatial_mapping, x.row(0)) for x in rows)


def _repeated(
    first: LayerFront | InfeasibleLayer, front: Shortlist
) -> LayerFront | InfeasibleLayer:
    name = front.problem.layer.name
    if isinstance(first, InfeasibleLayer):
        return repeated_infeasible(first, name)
    cmes = tuple(copy_with(cme, {"layer": name}) for cme in first.cmes)
    return LayerFront(cmes=cmes, statistics=front.statistics, repeats=first.layer)


class KBestStage(Frozen, Stage[Iterable[EvaluationBatch], Shortlist], frozen=True):
    """The ``k`` best evaluations, best first, in the order of the Minimal stages."""

    objective: Objective
    k: PositiveInt

    def __call__(self, evaluations: Iterable[EvaluationBatch], /) -> Shortlist:
        return k_best(evaluations, self.objective, self.k)


class BestFirstStage(
    Frozen, Stage[Iterable[EvaluationBatch], tuple[EvaluationBatch, ...]], frozen=True
):
    """All evaluations: the batch with the best one first, and each batch best first.

    Corresponds to ``reduce_minimal_keep_others`` in ZigZag. All evaluations stay in memory (about
    100 bytes each); ``KBestStage`` keeps only a given number.
    """

    objective: Objective

    def __call__(self, evaluations: Iterable[EvaluationBatch], /) -> tuple[EvaluationBatch, ...]:
        return best_first(evaluations, self.objective)
