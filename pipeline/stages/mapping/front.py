"""Reducers that keep several evaluations, and the choice among fronts under a limit."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import final

import numpy as np
import numpy.typing as npt
from pydantic import PositiveInt

from nestmap.costmodel.evaluate import evaluate
from nestmap.model import (
    CostLimit,
    EvaluationBatch,
    Frozen,
    InfeasibleError,
    InfeasibleLayer,
    LayerFront,
    LayerResult,
    LimitedCost,
    NetworkEvaluation,
    NetworkFront,
    Objective,
    ObjectiveBound,
)
from nestmap.model.base import copy_with
from nestmap.pipeline.stage_graph import Stage
from nestmap.pipeline.stages.mapping.reduce import (
    Costing,
    check_any_feasible,
    costed_once,
    infeasible_layer,
    repeated_infeasible,
)
from nestmap.search import (
    Points,
    Selection,
    Shortlist,
    best_first,
    k_best,
    pareto_front,
    select_within,
)


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


# --- chooses the mappings of all layers together, under a limit on what the network may cost ---


@final
class LimitedSumStage(Frozen, Stage[NetworkFront, NetworkEvaluation], frozen=True):
    """The mappings, one of each layer's front, with the least objective under a limit.

    The bound is one of all mappings of the space searched: each has a mapping on its front whose
    energy and latency are at most a share above its own, so what the fronts need at least under a
    limit that is this share higher, less this share, is a bound. It is one of all layers together;
    a single layer has none.

    Raises:
        InfeasibleError: where no choice of mappings meets the limit.
    """

    limit: CostLimit

    def __call__(self, front: NetworkFront, /) -> NetworkEvaluation:
        quantity, least = self.limit.quantity, front.best(self.limit.quantity)
        lowest = quantity.of(least)
        value = self.limit.over(lowest)
        points = [self._points(layer) for layer in front.layers]
        left = value - _of_vector(quantity, least)
        found = select_within(points, left)
        if found is None:
            raise InfeasibleError(
                f"at_most {self.limit}: found no mappings of all layers within it; expected "
                f"at least {quantity}={lowest:.15g}, which the best ones take"
            )
        chosen = zip(front.layers, found.places, strict=True)
        results = tuple(
            LayerResult(cme=x.cmes[n], statistics=x.statistics, repeats=x.repeats)
            for x, n in chosen
        )
        bound = self._bound(front, points, left, found)
        limited = LimitedCost(limit=self.limit, value=value, least=lowest, bound=bound)
        return copy_with(least, {"layers": results, "limited": limited})

    def _points(self, layer: LayerFront) -> Points:
        def costs(objective: Objective) -> npt.NDArray[np.float64]:
            return np.array([objective.of(cme) for cme in layer.cmes], np.float64)

        return Points(costs(self.limit.minimized), costs(self.limit.quantity))

    def _bound(
        self, front: NetworkFront, points: list[Points], limit: float, found: Selection
    ) -> ObjectiveBound | None:
        gaps = [layer.gap for layer in front.layers if layer.gap is not None]
        if len(gaps) < len(front.layers):
            return None
        objective, most = self.limit.minimized, max(gaps)
        free = front.best(objective)
        wider = select_within(points, limit * (1 + most)) if most else found
        assert wider is not None, "what meets a limit meets a wider one"
        value = wider.bound / (1 + most) + _of_vector(objective, free)
        known = 0.0 if free.bound is None else free.bound.value
        return ObjectiveBound(objective=objective, value=max(value, known))


def _of_vector(objective: Objective, total: NetworkEvaluation) -> float:
    """What the vector operators add to the total."""
    if not total.vector_counted:
        return 0.0
    return objective.value_of(total.vector_energy, float(total.vector_latency))
