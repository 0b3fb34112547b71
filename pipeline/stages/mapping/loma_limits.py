"""The stage that runs LOMA with every limit of loop factors up to the given one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Never, final

from nestmap.model import EvaluationBatch, SpatialProblem
from nestmap.model.base import copy_with
from nestmap.pipeline.stage_graph import Stage
from nestmap.pipeline.stages.mapping.loma import LomaStage
from nestmap.search.temporal.loma import loma_limits, loma_order_count


@final
@dataclass(frozen=True, slots=True)
class LomaLimitsStage(Stage[SpatialProblem, Iterator[EvaluationBatch]]):
    """LOMA with the limit of ``search``, and with every lower limit that has other loop factors.

    LOMA fills each memory as far as it goes. Finer factors fill it further, so that it may not
    double-buffer any longer: more factors alone can cost cycles. With those of lower limits they
    never do. ``run`` makes the stage of one limit, which may record and recall its search.
    """

    search: LomaStage
    run: Callable[[LomaStage], Stage[SpatialProblem, Iterator[EvaluationBatch]]]

    def __call__(self, spatial: SpatialProblem, /) -> Iterator[EvaluationBatch]:
        for limit in loma_limits(spatial, self.search.lpf_limit):
            yield from self.run(copy_with(self.search, {"lpf_limit": limit}))(spatial)

    def order_count(self, spatial: SpatialProblem) -> int:
        """The number of orders that the searches try together, feasible or not."""
        limits = loma_limits(spatial, self.search.lpf_limit)
        return sum(loma_order_count(spatial, limit) for limit in limits)

    def inner_stages(self) -> tuple[Stage[Never, object], ...]:
        """The search with the highest limit."""
        return (self.run(self.search),)
