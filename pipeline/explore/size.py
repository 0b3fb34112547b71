"""How large an exploration is, computed before it starts."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, final

from nestmap.model import MappingProblem, NetworkProblem, Recording, RecordMode
from nestmap.model.mapping.problem import ProblemContent
from nestmap.pipeline.explore.plan import SearchPlan, candidates_stage, layers_stage

ROW_BYTES: Final = 25
"""Bytes of a recorded evaluation: 16 to 35 for ResNet-50, depending on the accelerator.

Those of a single layer are compressed to as few as 8.
"""


@final
@dataclass(frozen=True, slots=True)
class LayerSize:
    """The searches of one layer, one for each spatial mapping: how many orders each tries.

    ``searches`` is ``None`` for the exact search, which finds out on the way, and where tensors may
    stay on chip, which takes several searches.
    """

    layer: str
    searches: tuple[int, ...] | None

    @property
    def mappings(self) -> int | None:
        """The number of orders that all searches try, feasible or not."""
        return None if self.searches is None else sum(self.searches)


@final
@dataclass(frozen=True, slots=True)
class ExplorationSize:
    """The layers that an exploration searches; of layers with equal content, only the first.

    Where tensors may stay on chip, all of them: equal layers may have other homes.

    The numbers are upper limits: pruned searches and those that a store holds are not done.
    """

    layers: tuple[LayerSize, ...]

    @property
    def searches(self) -> int | None:
        """The number of spatial mappings of all layers; ``None``: unknown beforehand."""
        known = [x.searches for x in self.layers if x.searches is not None]
        return sum(map(len, known)) if len(known) == len(self.layers) else None

    @property
    def mappings(self) -> int | None:
        """The number of orders that all searches try; ``None``: unknown beforehand."""
        known = [x.mappings for x in self.layers if x.mappings is not None]
        return sum(known) if len(known) == len(self.layers) else None

    def record_bytes(self, recording: Recording) -> int:
        """The estimated size of the recorded evaluations; 0 if only fronts are recorded.

        The exact search counts as nothing: it evaluates few mappings.
        """
        if recording.record is not RecordMode.ALL:
            return 0
        rows = [rows for layer in self.layers for rows in layer.searches or ()]
        limit = recording.limit
        return ROW_BYTES * sum(rows if limit is None else [min(x, limit) for x in rows])


KnownTries = Callable[[MappingProblem], tuple[int, ...] | None]
"""The number of mappings that each search of a layer tried, if a store holds its result."""


def exploration_size(
    network: NetworkProblem, plan: SearchPlan | None = None, known: KnownTries | None = None
) -> ExplorationSize:
    """The size of an exploration, without exploring; only spatial mappings are generated.

    Of layers that are ``known``, not even these.

    Raises:
        InputError: where the constraints do not suit a layer.
        InfeasibleError: where a layer has no spatial mapping.
    """
    chosen = plan or SearchPlan()
    problems: dict[ProblemContent | str, MappingProblem] = {}
    for problem in layers_stage()(network):
        content = problem.layer.name if chosen.joins_layers else problem.content
        problems.setdefault(content, problem)
    return ExplorationSize(tuple(_layer_size(x, chosen, known) for x in problems.values()))


def _layer_size(problem: MappingProblem, plan: SearchPlan, known: KnownTries | None) -> LayerSize:
    search, name = plan.effective_search, problem.layer.name
    if search.is_exhaustive or plan.joins_layers:
        return LayerSize(name, None)
    tries = None if known is None else known(problem)
    if tries is None:
        rank = plan.effective_rank
        counts = (search.order_count(x, rank) for x in candidates_stage(plan)(problem))
        tries = tuple(count for count in counts if count is not None)
    return LayerSize(name, tries)
