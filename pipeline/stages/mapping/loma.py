"""Stages of the main pipeline: from a network to the evaluations of its layers' mappings."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, Never, final

from pydantic import PositiveInt

from nestmap.costmodel.evaluate import evaluate_batch
from nestmap.model import EvaluationBatch, Frozen, MappingBatch, MappingType, SpatialProblem
from nestmap.model.base import copy_with
from nestmap.pipeline.stage_graph import Stage, each
from nestmap.pipeline.stages.mapping.recall import UNCONNECTED, Ports
from nestmap.pipeline.stages.mapping.temporal_search import Evaluated, Rank, TemporalSearch
from nestmap.search import loma
from nestmap.search.temporal.loma import loma_limits, loma_order_count


class LomaStage(TemporalSearch, Stage[SpatialProblem, Iterator[MappingBatch]], frozen=True):
    """Generates every order of the loop factors with its memory allocation, in batches.

    ``lpf_limit`` is the maximum number of loop factors (``None``: all prime factors). ``workers``
    is the number of threads; the result does not depend on it.

    Source: LOMA (Symons et al., AICAS 2021).
    """

    name: ClassVar[str] = "loma"

    lpf_limit: PositiveInt | None = 6
    mapping_type: MappingType = MappingType.UNEVEN
    workers: PositiveInt = 1

    def __call__(self, spatial: SpatialProblem, /) -> Iterator[MappingBatch]:
        return loma(spatial, self.lpf_limit, self.mapping_type, self.workers)

    def evaluated(self) -> Evaluated:
        """Every order with its evaluation."""
        return self >> each(CostModelStage(), self.workers)

    def ranked(self, rank: Rank, ports: Ports) -> Evaluated:
        """LOMA with all limits, unless spatial mappings are chosen as in the reference."""
        if rank is Rank.UTILIZATION:
            return self.connected(ports)
        return LomaLimitsStage(self, ports)

    def order_count(self, spatial: SpatialProblem, rank: Rank) -> int:
        """The number of orders that are tried, feasible or not."""
        if rank is Rank.UTILIZATION:
            return loma_order_count(spatial, self.lpf_limit)
        limits = loma_limits(spatial, self.lpf_limit)
        return sum(loma_order_count(spatial, limit) for limit in limits)


class CostModelStage(Frozen, Stage[MappingBatch, EvaluationBatch], frozen=True):
    """Evaluates every mapping of a batch."""

    def __call__(self, mappings: MappingBatch, /) -> EvaluationBatch:
        return evaluate_batch(mappings)


@final
@dataclass(frozen=True, slots=True)
class LomaLimitsStage(Stage[SpatialProblem, Iterator[EvaluationBatch]]):
    """LOMA with the limit of ``search``, and with every lower limit that has other loop factors.

    LOMA fills each memory as far as it goes. Finer factors fill it further, so that it may not
    double-buffer any longer: more factors alone can cost cycles. With those of lower limits they
    never do. The search of each limit is connected to the ``ports``.
    """

    search: LomaStage
    ports: Ports = UNCONNECTED

    def __call__(self, spatial: SpatialProblem, /) -> Iterator[EvaluationBatch]:
        for limit in loma_limits(spatial, self.search.lpf_limit):
            yield from copy_with(self.search, {"lpf_limit": limit}).connected(self.ports)(spatial)

    def inner_stages(self) -> tuple[Stage[Never, object], ...]:
        """The search with the highest limit."""
        return (self.search.connected(self.ports),)
