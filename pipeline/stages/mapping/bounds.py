"""Stages that rank and prune spatial mappings by their lower bounds."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import final

from pydantic import PositiveInt

from nestmap.model import EvaluationBatch, Frozen, Objective, SearchStatistics, SpatialProblem
from nestmap.model.base import copy_with
from nestmap.model.evaluation.objective import union_bounds
from nestmap.pipeline.stage_graph import Stage
from nestmap.search import best_of
from nestmap.search.spatial.lower_bounds import lower_bounds

_ROUNDING = 1e-9


class RankByBoundStage(
    Frozen, Stage[Iterable[SpatialProblem], Iterator[SpatialProblem]], frozen=True
):
    """Keeps the ``most`` spatial mappings with the smallest lower bounds, smallest first.

    :func:`~nestmap.search.spatial.lower_bounds.lower_bounds` computes the bounds; candidates with
    equal bounds stay in their order.
    """

    objective: Objective
    most: PositiveInt

    def __call__(self, candidates: Iterable[SpatialProblem], /) -> Iterator[SpatialProblem]:
        ranked = sorted(candidates, key=lambda problem: lower_bounds(problem).of(self.objective))
        return iter(ranked[: self.most])


@final
@dataclass(frozen=True, slots=True)
class BoundedSearchStage(Stage[Iterable[SpatialProblem], EvaluationBatch]):
    """Finds the best evaluation over several spatial mappings, in the order of their lower bounds.

    A spatial mapping is pruned if its lower bound of the objective (see
    :func:`~nestmap.search.spatial.lower_bounds.lower_bounds`) exceeds the best result so far. The
    result is the same as without pruning; the statistics count the pruned spatial mappings.
    ``inner`` finds the best evaluation for one spatial mapping.
    """

    inner: Stage[SpatialProblem, EvaluationBatch]
    objective: Objective

    def __call__(self, candidates: Iterable[SpatialProblem], /) -> EvaluationBatch:
        problems = list(candidates)
        bounds = [lower_bounds(problem) for problem in problems]
        found: dict[int, EvaluationBatch] = {}
        best = float("inf")
        for i in sorted(range(len(problems)), key=lambda i: bounds[i].of(self.objective)):
            if bounds[i].of(self.objective) * (1 - _ROUNDING) > best:
                break
            found[i] = self.inner(problems[i])
            best = min([best, *found[i].values(self.objective).tolist()])
        chosen = best_of((found[i] for i in sorted(found)), self.objective)
        pruned = [entry for i, entry in enumerate(bounds) if i not in found]
        left_out = SearchStatistics(pruned=len(pruned))
        if chosen.statistics.bounds is not None:
            # The bounds of pruned spatial mappings are above the best result in this objective, so
            # the bound of those searched holds for all. In the other objectives they may be lower.
            left_out = copy_with(left_out, {"bounds": union_bounds(*pruned)})
        return chosen.with_statistics(chosen.statistics + left_out)
