"""Costs networks on designs with a single core: by exploring their mappings."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from threading import Event
from typing import TYPE_CHECKING, TypeAlias, final

from nestmap.costmodel.area_leakage import total_area
from nestmap.costmodel.evaluate import evaluate
from nestmap.costmodel.version import VERSION as COST_MODEL_VERSION
from nestmap.model import (
    Accelerator,
    CostModelEvaluation,
    EvaluationBatch,
    InfeasibleLayer,
    MappingConstraints,
    MappingProblem,
    NetworkEvaluation,
    NetworkProblem,
    Objective,
    Recording,
    RunLabel,
    SpatialProblem,
    TemporalMapping,
    Workload,
)
from nestmap.model.base import copy_with
from nestmap.model.design_space.result import NetworkFigures
from nestmap.model.design_space.space import Design, WeightedNetwork
from nestmap.model.mapping.problem import ProblemContent
from nestmap.model.multicore.core_constraints import CoreMapping
from nestmap.pipeline.explore.api import explore_network
from nestmap.pipeline.explore.keys import key_of
from nestmap.pipeline.explore.plan import SearchPlan, exploration_pipeline
from nestmap.pipeline.stages.mapping.recall import Choose, Entry, Explore, Ports
from nestmap.pipeline.sweep.explore_designs import ExploreDesigns
from nestmap.pipeline.sweep.methods.design_explorer import DesignExplorer, Outcome, check_wanted
from nestmap.pipeline.sweep.space.checked_space import CheckedSpace
from nestmap.search.temporal.exact.walk import WalkState
from nestmap.search.version import VERSION as SEARCH_VERSION

if TYPE_CHECKING:
    from nestmap.store import Store

# --- layers that several networks have: explored once on each accelerator ---


@final
class SharedLayers:
    """A ledger in memory, for all networks on one accelerator under one plan."""

    def __init__(self) -> None:
        self._found: dict[ProblemContent, EvaluationBatch] = {}

    def explored(
        self, problem: MappingProblem, options: str, explore: Explore, choose: Choose
    ) -> EvaluationBatch:
        """The best evaluation of a layer, explored when it is first asked for."""
        content = problem.content
        if content in self._found:
            return self._found[content].for_layer(problem.layer)
        found = self._found[content] = explore(problem)
        return found

    def recall(self, spatial: SpatialProblem, options: str) -> None:
        """Searches are not kept."""

    def searching(self, spatial: SpatialProblem, options: str) -> AbstractContextManager[Entry]:
        """Searches are not kept."""
        return nullcontext(_NO_ENTRY)

    def cost(self, spatial: SpatialProblem, mapping: TemporalMapping) -> CostModelEvaluation:
        """The evaluation of a mapping."""
        return evaluate(spatial, mapping)


@final
class _NoEntry:
    """Records nothing."""

    def record(self, batch: EvaluationBatch) -> None:
        """Records nothing."""


_NO_ENTRY = _NoEntry()


# --- costs networks on designs with a single core: by exploring their mappings ---

_ExploreAll: TypeAlias = Callable[
    [SearchPlan, Design, Sequence[NetworkProblem]], Iterator[NetworkEvaluation]
]
"""Explores the networks of a design, one after the other."""


@final
@dataclass(frozen=True, slots=True)
class OneCore:
    """A space of accelerators with a single core, and the plan for the mappings of each.

    Each design is mapped for each objective of ``mapped_for``, the first of which is that of the
    plan.
    """

    checked: CheckedSpace
    plan: SearchPlan
    mapped_for: tuple[Objective, ...]

    @property
    def constraints(self) -> MappingConstraints:
        """Constraints on mappings."""
        return self.checked.constraints

    @property
    def allocations(self) -> CoreMapping:
        """Core constraints: none."""
        return CoreMapping()

    @property
    def static_energy(self) -> bool:
        """Whether energies include leakage, whatever the description says."""
        return self.checked.static_energy

    def key(self, network: Workload) -> str:
        """Identifies what a network costs on an accelerator, mapped for the first objective."""
        return key_of(
            [
                "network",
                network.content_hash,
                self.constraints.content_hash,
                type(self.plan.search).__name__,
                self.plan.model_dump_json(exclude={"search": {"workers"}}),
                COST_MODEL_VERSION,
                SEARCH_VERSION,
            ]
        )

    def mapping_for(self, objective: Objective) -> OneCore:
        """The same for one of the objectives."""
        plan = copy_with(self.plan, {"objective": objective})
        return replace(self, plan=plan, mapped_for=(objective,))

    def running_for(self, objective: Objective) -> OneCore:
        """The same for one of the objectives: each has runs of its own."""
        return self.mapping_for(objective)

    def on_one_thread(self) -> OneCore:
        """The same with one thread for each design."""
        return replace(self, plan=self.plan.with_options({"workers": 1}))

    def without_store(self) -> OneCore:
        """The same for another process, which cannot share the store."""
        return replace(self, checked=replace(self.checked, store=None))

    def explorer(self, stopped: Event) -> DesignExplorer[Accelerator]:
        """Explores one design after the other, without a store, until ``stopped`` is set."""
        return self._explorer(partial(_unrecorded, _StopObserver(stopped)))

    def recorder(self, store: Store, recording: Recording, tags: tuple[str, ...]) -> ExploreDesigns:
        """Explores designs such that each accelerator and network is a run of the store.

        Designs follow one another; the plan's own threads explore each. Layers that finished runs
        have explored are reused. ``tags`` are those of the runs.
        """
        named = (self.checked.settings.space.name, tags)
        explore = partial(_recorded, named, store, recording)
        return partial(map, self._explorer(explore))

    def _explorer(self, explore: _ExploreAll) -> DesignExplorer[Accelerator]:
        return DesignExplorer(
            self.checked.settings.space,
            self.mapped_for,
            self.checked.accelerator,
            total_area,
            partial(self._outcome, explore),
        )

    def _outcome(self, explore: _ExploreAll, design: Design, accelerator: Accelerator) -> Outcome:
        """The figures for each objective; a layer without a mapping has none for any of them."""
        problems = self.checked.problems(design, accelerator)
        found: list[tuple[NetworkFigures, ...]] = []
        for objective in self.mapped_for:
            totals = explore(self.mapping_for(objective).plan, design, problems)
            figures: list[NetworkFigures] = []
            for entry, total in zip(self.checked.settings.space.networks, totals, strict=True):
                if total.infeasible:
                    return _reason(entry, total.infeasible)
                figures.append(_figures(entry, total))
            found.append(tuple(figures))
        return tuple(found)


def _unrecorded(
    observer: _StopObserver, plan: SearchPlan, _: Design, problems: Sequence[NetworkProblem]
) -> Iterator[NetworkEvaluation]:
    ledger = SharedLayers() if len(problems) > 1 else None
    pipeline = exploration_pipeline(plan, Ports((observer,), ledger))
    return map(pipeline, problems)


def _recorded(
    named: tuple[str, tuple[str, ...]],
    store: Store,
    recording: Recording,
    plan: SearchPlan,
    design: Design,
    problems: Sequence[NetworkProblem],
) -> Iterator[NetworkEvaluation]:
    name, tags = named
    label = RunLabel.of(f"{name}/{design.number}/{plan.objective}", tags)
    for problem in problems:
        found = explore_network(problem, plan, store=store, label=label, recording=recording)
        yield found.total


@final
@dataclass(frozen=True, slots=True)
class _StopObserver:
    """Ends explorations that other threads have not finished when the sweep is over."""

    stopped: Event

    def observe(self, batch: EvaluationBatch) -> None:
        """One batch has been evaluated."""
        check_wanted(self.stopped)

    def walked(self, state: WalkState) -> None:
        """Some more spatial mappings are searched."""
        check_wanted(self.stopped)


def _figures(entry: WeightedNetwork, total: NetworkEvaluation) -> NetworkFigures:
    return NetworkFigures(
        network=entry.name,
        weight=entry.weight,
        energy=float(total.energy),
        latency=float(total.latency),
        gap=total.gap,
        cut=any(x.statistics.cut for x in total.layers),
    )


def _reason(entry: WeightedNetwork, infeasible: Sequence[InfeasibleLayer]) -> str:
    more = f" (and {len(infeasible) - 1} more layers)" if len(infeasible) > 1 else ""
    return f"{entry.name}: {infeasible[0].message}{more}"
