"""Reducers that keep more than one evaluation: the front, the k best, all with the best first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import final

from pydantic import PositiveInt

from nestmap.costmodel.evaluate import evaluate
from nestmap.model import EvaluationBatch, Frozen, LayerFront, NetworkFront, Objective
from nestmap.model.base import copy_with
from nestmap.pipeline.stage_graph import Stage
from nestmap.pipeline.stages.mapping.reduce import Costing, costed_once, no_mapping_fits
from nestmap.search import Shortlist, best_first, k_best, pareto_front


class ParetoStage(Frozen, Stage[Iterable[EvaluationBatch], Shortlist], frozen=True):
    """The evaluations than which none is better in energy or latency without being worse in one.

    By rising energy. For one front of a layer over all its spatial mappings, ``FlattenStage``
    makes one stream of theirs.
    """

    def __call__(self, evaluations: Iterable[EvaluationBatch], /) -> Shortlist:
        return pareto_front(evaluations)


@final
@dataclass(frozen=True, slots=True)
class FrontSumStage(Stage[Iterable[Shortlist], NetworkFront]):
    """The front of each layer, every point of it costed in full.

    Raises:
        InfeasibleError: at the first layer of which no mapping fits: which memory is too small.
    """

    cost: Costing = evaluate

    def __call__(self, fronts: Iterable[Shortlist], /) -> NetworkFront:
        return NetworkFront(layers=tuple(_layer_fronts(fronts, self.cost)))


def _layer_fronts(fronts: Iterable[Shortlist], cost: Costing) -> Iterator[LayerFront]:
    """The fronts of the layers; what has the same content and mappings is costed once."""

    def first(front: Shortlist) -> LayerFront:
        if not front.rows:
            raise no_mapping_fits(front.problem, front.statistics)
        mappings = (row.mappings for row in front.rows)
        cmes = tuple(cost(mapping.problem, mapping.row(0)) for mapping in mappings)
        return LayerFront(cmes=cmes, statistics=front.statistics)

    return costed_once(fronts, _content, first, _repeated)


def _content(front: Shortlist) -> tuple[object, ...]:
    rows = (row.mappings for row in front.rows)
    return front.problem.content, tuple((x.problem.spatial_mapping, x.row(0)) for x in rows)


def _repeated(first: LayerFront, front: Shortlist) -> LayerFront:
    name = front.problem.layer.name
    cmes = tuple(copy_with(cme, {"layer": name}) for cme in first.cmes)
    return LayerFront(cmes=cmes, statistics=front.statistics, repeats=first.layer)


class KBestStage(Frozen, Stage[Iterable[EvaluationBatch], Shortlist], frozen=True):
    """The ``k`` best evaluations, best first, ranked as the Minimal stages do."""

    objective: Objective
    k: PositiveInt

    def __call__(self, evaluations: Iterable[EvaluationBatch], /) -> Shortlist:
        return k_best(evaluations, self.objective, self.k)


class BestFirstStage(
    Frozen, Stage[Iterable[EvaluationBatch], tuple[EvaluationBatch, ...]], frozen=True
):
    """All evaluations, the best as the first row of the first batch, each batch best first.

    What ZigZag does with ``reduce_minimal_keep_others``. All of them stay in memory (about 100
    bytes each): where only some are wanted, ``KBestStage`` keeps those.
    """

    objective: Objective

    def __call__(self, evaluations: Iterable[EvaluationBatch], /) -> tuple[EvaluationBatch, ...]:
        return best_first(evaluations, self.objective)
