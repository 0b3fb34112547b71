"""Chooses the mappings of all layers together, under a limit on what the network may cost."""

from __future__ import annotations

from typing import final

import numpy as np
import numpy.typing as npt

from nestmap.model import (
    CostLimit,
    Frozen,
    InfeasibleError,
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
from nestmap.search import Points, Selection, select_within


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
        lowest = _of(quantity, least)
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


def _of(objective: Objective, total: NetworkEvaluation) -> float:
    return objective.value_of(total.energy, float(total.latency))


def _of_vector(objective: Objective, total: NetworkEvaluation) -> float:
    """What the vector operators add to the total."""
    if not total.vector_counted:
        return 0.0
    return objective.value_of(total.vector_energy, float(total.vector_latency))
