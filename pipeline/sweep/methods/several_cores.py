"""Costs networks on designs with several cores: by scheduling them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from threading import Event
from typing import TYPE_CHECKING, TypeAlias, final

from nestmap.costmodel.core_areas import chip_area
from nestmap.costmodel.version import VERSION as COST_MODEL_VERSION
from nestmap.model import (
    InfeasibleError,
    MappingConstraints,
    Objective,
    Recording,
    RunLabel,
    Workload,
)
from nestmap.model.base import copy_with
from nestmap.model.design_space.result import NetworkFigures
from nestmap.model.design_space.space import Design, WeightedNetwork
from nestmap.model.multicore.accelerator import MultiCoreAccelerator
from nestmap.model.multicore.allocation import Generation, Individual, StreamBound
from nestmap.model.multicore.cn_costs import RecordedCost
from nestmap.model.multicore.core_constraints import CoreMapping
from nestmap.model.multicore.problem import SplitProblem, StreamProblem
from nestmap.model.multicore.schedule import ScheduleProblem
from nestmap.pipeline.explore.keys import key_of
from nestmap.pipeline.multicore.api import stream_problem
from nestmap.pipeline.multicore.pipeline import stream_pipeline
from nestmap.pipeline.multicore.plan import StreamPlan
from nestmap.pipeline.multicore.run import StreamJob, StreamPorts
from nestmap.pipeline.stages.multicore.inter_core import BestAllocationStage, ScheduledSearch
from nestmap.pipeline.sweep.explore_designs import ExploreDesigns
from nestmap.pipeline.sweep.methods.design_explorer import DesignExplorer, Outcome, check_wanted
from nestmap.pipeline.sweep.space.checked_cores import CheckedCores
from nestmap.search.parallel import available_workers
from nestmap.search.version import VERSION as SEARCH_VERSION

if TYPE_CHECKING:
    from nestmap.store import Store

# --- costs of computation nodes that several designs and networks have ---


@final
class SharedCosts:
    """A ledger in memory of costs of nodes on cores; it forgets all else.

    Threads may add to it at the same time: equal keys have equal costs.
    """

    def __init__(self) -> None:
        self._costs: dict[str, RecordedCost] = {}

    def find_costs(self, keys: Sequence[str]) -> Mapping[str, RecordedCost]:
        """The known costs by key."""
        return {key: found for key in keys if (found := self._costs.get(key)) is not None}

    def record_costs(self, costs: Mapping[str, RecordedCost]) -> None:
        """Keeps costs, without the mappings behind them, which no schedule needs."""
        self._costs |= {key: copy_with(cost, {"cme": None}) for key, cost in costs.items()}

    def record_problem(self, problem: ScheduleProblem) -> None:
        """Nothing is kept."""

    def bound(self) -> StreamBound | None:
        """There is none."""
        return None

    def record_bound(self, found: StreamBound) -> None:
        """Nothing is kept."""

    def newest_generation(self) -> Generation | None:
        """There is none."""
        return None

    def scheduled_individuals(self) -> tuple[Individual, ...]:
        """There are none."""
        return ()

    def record_generation(self, generation: Generation) -> None:
        """Nothing is kept."""


# --- costs networks on designs with several cores: by scheduling them ---

_Schedule: TypeAlias = Callable[[Design, StreamProblem], ScheduledSearch]
"""Schedules a network on a design."""


@final
@dataclass(frozen=True, slots=True)
class SeveralCores:
    """A space of accelerators with several cores, and the plan for the schedules on each.

    The front of each search has a schedule for each objective of ``mapped_for``, the first of
    which is that of the plan.
    """

    checked: CheckedCores
    plan: StreamPlan
    mapped_for: tuple[Objective, ...]

    @property
    def constraints(self) -> MappingConstraints:
        """Constraints on mappings: none."""
        return MappingConstraints()

    @property
    def allocations(self) -> CoreMapping:
        """On which cores layers may run, and how they are split."""
        return self.checked.mapping

    @property
    def static_energy(self) -> bool:
        """Each core says for itself whether its energy includes leakage."""
        return False

    def key(self, network: Workload) -> str:
        """Identifies what a network costs on an accelerator, scheduled for the first objective."""
        return key_of(
            [
                "schedule",
                network.content_hash,
                self.allocations.content_hash,
                type(self.plan.core.search).__name__,
                self.plan.model_dump_json(exclude={"core": {"search": {"workers"}}}),
                COST_MODEL_VERSION,
                SEARCH_VERSION,
            ]
        )

    def mapping_for(self, objective: Objective) -> SeveralCores:
        """The same for one of the objectives."""
        plan = copy_with(self.plan, {"objective": objective})
        return replace(self, plan=plan, mapped_for=(objective,))

    def running_for(self, objective: Objective) -> SeveralCores:
        """The same: the front that a run records has a schedule for each objective."""
        return self

    def on_one_thread(self) -> SeveralCores:
        """The same: each design has one thread."""
        return self

    def without_store(self) -> SeveralCores:
        """The same for another process, which cannot share the store."""
        return replace(self, checked=replace(self.checked, store=None))

    def explorer(self, stopped: Event) -> DesignExplorer[MultiCoreAccelerator]:
        """Explores one design after the other, without a store, until ``stopped`` is set."""
        ports = StreamPorts(SharedCosts(), _Stopping(stopped))
        return self._explorer(partial(_unrecorded, self.plan, ports))

    def recorder(self, store: Store, recording: Recording, tags: tuple[str, ...]) -> ExploreDesigns:
        """Explores designs such that each accelerator and network is a run of the store.

        Designs follow one another, each on all cores of this machine. ``tags`` are those of the
        runs; their costs and generations are always recorded.
        """
        named = (self.checked.settings.space.name, tags)
        return partial(map, self._explorer(partial(_recorded, named, self.plan, store)))

    def _explorer(self, schedule: _Schedule) -> DesignExplorer[MultiCoreAccelerator]:
        return DesignExplorer(
            self.checked.settings.space,
            self.mapped_for,
            self.checked.accelerator,
            chip_area,
            partial(self._outcome, schedule),
        )

    def _outcome(
        self, schedule: _Schedule, design: Design, accelerator: MultiCoreAccelerator
    ) -> Outcome:
        found: list[list[NetworkFigures]] = []
        problems = self.checked.problems(accelerator)
        for entry, problem in zip(self.checked.settings.space.networks, problems, strict=True):
            try:
                search = schedule(design, problem)
            except InfeasibleError as error:
                return f"{entry.name}: {error}"
            found.append([_figures(entry, search, self.plan, x) for x in self.mapped_for])
        return tuple(zip(*found, strict=True))


def _unrecorded(
    plan: StreamPlan, ports: StreamPorts, _: Design, problem: StreamProblem
) -> ScheduledSearch:
    return stream_pipeline(StreamJob(problem, plan), ports)(problem)


def _recorded(
    named: tuple[str, tuple[str, ...]],
    plan: StreamPlan,
    store: Store,
    design: Design,
    problem: StreamProblem,
) -> ScheduledSearch:
    name, tags = named
    label = RunLabel.of(f"{name}/{design.number}", tags)
    job = StreamJob(problem, plan, available_workers(), label)
    found = stream_problem(job, store=store)
    return ScheduledSearch(found.search, found.schedule)


@final
@dataclass(frozen=True, slots=True)
class _Stopping:
    """Ends schedules that other threads have not finished when the sweep is over."""

    stopped: Event

    def split(self, split: SplitProblem) -> None:
        """The network is split."""
        check_wanted(self.stopped)

    def costed(self, done: int, of: int) -> None:
        """So many of the costs are known."""
        check_wanted(self.stopped)

    def prove(self, problem: ScheduleProblem) -> None:
        """The search by constraints begins."""
        check_wanted(self.stopped)

    def search(self, problem: ScheduleProblem, generations: int) -> None:
        """The genetic search begins."""
        check_wanted(self.stopped)

    def observe(self, generation: Generation) -> None:
        """A generation is complete."""
        check_wanted(self.stopped)


def _figures(
    entry: WeightedNetwork, found: ScheduledSearch, plan: StreamPlan, objective: Objective
) -> NetworkFigures:
    """The figures of the best schedule; its gap is known where a bound is, of the latency."""
    bound = found.search.bound if objective is Objective.LATENCY else None
    schedule = found.schedule
    if objective is not plan.objective:
        schedule = BestAllocationStage(objective)(found.search)
    return NetworkFigures(
        network=entry.name,
        weight=entry.weight,
        energy=float(schedule.energy.total),
        latency=float(schedule.latency),
        gap=None if bound is None else bound.gap,
        cut=plan.core.is_timed,
    )
