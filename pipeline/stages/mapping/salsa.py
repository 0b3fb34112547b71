"""The stage that searches loop orders by simulated annealing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from nestmap.model import EvaluationBatch, MappingType, Objective, SpatialProblem
from nestmap.model.base import copy_with
from nestmap.model.units import Cooling, PositiveCount, Seed, Temperature
from nestmap.pipeline.stage_graph import Stage
from nestmap.pipeline.stages.mapping.temporal_search import Evaluated, Rank, TemporalSearch
from nestmap.search.temporal.salsa import Annealing, salsa, salsa_order_count

_USUAL = Annealing()


class SalsaStage(TemporalSearch, Stage[SpatialProblem, Iterator[EvaluationBatch]], frozen=True):
    """Simulated annealing over the orders of all prime factors; yields every visited order.

    There are ``chains`` chains of ``iterations`` orders each, on ``workers`` threads. The
    temperature starts at ``start_temperature`` (relative to the objective) and is multiplied by
    ``cooling`` after each order. The result depends on the ``seed``, but not on the number of
    workers. If there are no more orders than all chains visit together, each is tried once
    instead.

    Source: SALSA (Jung et al., AICAS 2023).

    Raises:
        InputError: where the user's temporal ordering cannot be satisfied.
    """

    name: ClassVar[str] = "salsa"

    objective: Objective = Objective.LATENCY
    chains: PositiveCount = _USUAL.chains
    iterations: PositiveCount = _USUAL.iterations
    start_temperature: Temperature = _USUAL.start_temperature
    cooling: Cooling = _USUAL.cooling
    seed: Seed = _USUAL.seed
    mapping_type: MappingType = MappingType.UNEVEN
    workers: PositiveCount = 1

    def __call__(self, spatial: SpatialProblem, /) -> Iterator[EvaluationBatch]:
        return salsa(spatial, self.objective, self.annealing, self.mapping_type, self.workers)

    def evaluated(self) -> Evaluated:
        """The search itself, which evaluates each order that it visits."""
        return self

    def minimizing(self, objective: Objective) -> SalsaStage:
        """Annealing for an objective."""
        return copy_with(self, {"objective": objective})

    def order_count(self, spatial: SpatialProblem, rank: Rank) -> int:
        """The number of orders that the stage visits, feasible or not."""
        del rank
        return salsa_order_count(spatial, self.annealing)

    @property
    def known_seed(self) -> int:
        """The seed of the chains."""
        return self.seed

    @property
    def annealing(self) -> Annealing:
        """The length of annealing and its temperatures."""
        return Annealing(
            chains=self.chains,
            iterations=self.iterations,
            start_temperature=self.start_temperature,
            cooling=self.cooling,
            seed=self.seed,
        )
