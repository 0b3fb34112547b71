"""What plans, recording and reports ask of a search for temporal mappings."""

from abc import ABC, abstractmethod
from collections.abc import Iterable
from enum import StrEnum
from typing import ClassVar, Self, TypeAlias

from nestmap.model import Frozen, Objective, SpatialProblem
from nestmap.pipeline.stage_graph import Stage
from nestmap.pipeline.stages.mapping.candidates import RankedCandidates
from nestmap.pipeline.stages.mapping.recall import Batches, Ports


class Rank(StrEnum):
    """How spatial mappings are chosen.

    ``utilization``: those that use most of the array, then those that unroll more different
    dimensions, as in the reference. ``bound``: of all spatial mappings those with the lowest bound
    of the objective, and always the simple and the bundled ones: see
    :class:`~nestmap.pipeline.stages.mapping.candidates.PromisingMappingsStage`. More spatial
    mappings, or mixed ones, are then never worse, nor is LOMA with more loop factors: it also tries
    all lower limits.
    """

    UTILIZATION = "utilization"
    BOUND = "bound"


Evaluated: TypeAlias = Stage[SpatialProblem, Batches]
"""Evaluates temporal mappings of a spatial mapping."""


class TemporalSearch(Frozen, ABC, frozen=True):
    """A search for the temporal mappings of a spatial mapping, with its options as fields.

    ``name`` is that of the command line. ``default_rank`` is how the spatial mappings are chosen
    unless a plan says otherwise. A search ``is_greedy`` if it tries one allocation to memories for
    each order, and ``is_exhaustive`` if it searches all spatial mappings of a layer (:meth:`walk`).
    """

    name: ClassVar[str]
    default_rank: ClassVar[Rank] = Rank.UTILIZATION
    is_greedy: ClassVar[bool] = True
    is_exhaustive: ClassVar[bool] = False

    @abstractmethod
    def evaluated(self) -> Evaluated:
        """The search with the evaluation of each mapping."""

    def minimizing(self, objective: Objective) -> Self:
        """The search for the best mapping; unchanged if it tries the same ones for all."""
        del objective
        return self

    def for_fronts(self, objective: Objective) -> Self:
        """The search for Pareto fronts of energy and latency."""
        return self.minimizing(objective)

    def connected(self, ports: Ports) -> Evaluated:
        """The search, observed, recorded and recalled."""
        return ports.connect(self.evaluated(), self.options_json)

    def ranked(self, rank: Rank, ports: Ports) -> Evaluated:
        """The connected search of a spatial mapping that was chosen by that rank."""
        del rank
        return self.connected(ports)

    def order_count(self, spatial: SpatialProblem, rank: Rank) -> int | None:
        """The number of orders that :meth:`ranked` tries; ``None``: not known beforehand."""
        del spatial, rank
        return None

    def walk(self, ports: Ports) -> Stage[Iterable[RankedCandidates], Batches] | None:
        """The connected search of all spatial mappings of a layer, if it is exhaustive."""
        del ports
        return None

    @property
    def options_json(self) -> str:
        """The options as JSON, without those that only affect its run time."""
        options = self.model_dump_json(exclude={"workers", "time_limit"})
        return f'{{"stage": "{type(self).__name__}", "options": {options}}}'

    @property
    def is_timed(self) -> bool:
        """Whether a limit of time may cut it short, so that another run may find more."""
        return False

    @property
    def known_seed(self) -> int | None:
        """The seed that determines the result, if there is one."""
        return None
