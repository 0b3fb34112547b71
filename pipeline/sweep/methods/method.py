"""How a sweep costs the networks of its space on a design: one protocol, whatever the base is."""

from __future__ import annotations

from collections.abc import Callable
from threading import Event
from typing import TYPE_CHECKING, Final, Protocol

from nestmap.model import MappingConstraints, Objective, Recording, Workload
from nestmap.model.design_space.space import Design
from nestmap.model.multicore.core_constraints import CoreMapping
from nestmap.pipeline.explore.plan import SearchPlan
from nestmap.pipeline.multicore.plan import StreamPlan
from nestmap.pipeline.sweep.explore_designs import DesignPoints, ExploreDesigns
from nestmap.pipeline.sweep.space.swept_space import SweptSpace

if TYPE_CHECKING:
    from nestmap.store import Store

TAG: Final = "sweep:"
"""What the tags of a sweep's runs begin with, before its name."""


class SweepMethod(Protocol):
    """A space that was checked, and the plan for each of its designs."""

    @property
    def checked(self) -> SweptSpace:
        """The space."""
        ...

    @property
    def mapped_for(self) -> tuple[Objective, ...]:
        """What the mapping of each layer, or the schedule of each network, minimizes in turn."""
        ...

    @property
    def plan(self) -> SearchPlan | StreamPlan:
        """The plan for each design, with the first of the objectives."""
        ...

    @property
    def constraints(self) -> MappingConstraints:
        """Constraints on mappings; none for several cores."""
        ...

    @property
    def allocations(self) -> CoreMapping:
        """Core constraints; none for a single core."""
        ...

    @property
    def static_energy(self) -> bool:
        """Whether energies include leakage, whatever the description says."""
        ...

    def key(self, network: Workload) -> str:
        """Identifies what a network costs on an accelerator, mapped for the first objective.

        Equal keys, equal figures.
        """
        ...

    def mapping_for(self, objective: Objective) -> SweepMethod:
        """The same for one of the objectives."""
        ...

    def running_for(self, objective: Objective) -> SweepMethod:
        """The method whose runs have what designs cost that are mapped for an objective."""
        ...

    def on_one_thread(self) -> SweepMethod:
        """The same with one thread for each design."""
        ...

    def without_store(self) -> SweepMethod:
        """The same for another process, which cannot share the store."""
        ...

    def explorer(self, stopped: Event) -> Callable[[Design], DesignPoints]:
        """Explores one design after the other, without a store, until ``stopped`` is set."""
        ...

    def recorder(self, store: Store, recording: Recording, tags: tuple[str, ...]) -> ExploreDesigns:
        """Explores designs such that each accelerator and network is a run of the store.

        Designs follow one another. ``tags`` are those of the runs.
        """
        ...
