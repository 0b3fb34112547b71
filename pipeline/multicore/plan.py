"""How a network is mapped onto several cores, and the stages that do it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, final

from pydantic import ValidationError

from nestmap.model import Frozen, InputError, Objective
from nestmap.model.base import replaced
from nestmap.model.multicore.population import AllocationObjective
from nestmap.model.multicore.problem import SplitProblem, StreamProblem
from nestmap.model.multicore.schedule import (
    CandidateRule,
    Schedule,
    ScheduleOptions,
    ScheduleProblem,
)
from nestmap.model.multicore.search_result import AllocationSearch
from nestmap.model.multicore.split_options import SplitOptions
from nestmap.pipeline.explore.options import ObjectiveName
from nestmap.pipeline.explore.plan import SearchPlan, named
from nestmap.pipeline.frontend.yaml.located_node import explained, suggestion
from nestmap.pipeline.multicore.core_plan import CORE_PLAN, core_cost_stage
from nestmap.pipeline.multicore.options import EngineName, StreamOptions
from nestmap.pipeline.stage import Stage
from nestmap.pipeline.stages.mapping.loma import LomaStage
from nestmap.pipeline.stages.multicore.cost_ledger import CostLedger
from nestmap.pipeline.stages.multicore.inter_core import BestAllocationStage, InterCoreMappingStage
from nestmap.pipeline.stages.multicore.intra_core import IntraCoreMappingStage, Watcher
from nestmap.pipeline.stages.multicore.split import GenerateCNWorkloadHybridStage
from nestmap.search.multicore.allocation.cp_sat_search import ConstraintOptions
from nestmap.search.multicore.allocation.genetic import GeneticOptions

DEFAULTS: Final = StreamOptions()


class Engine(StrEnum):
    """Who looks for the best allocation of nodes to cores."""

    GENETIC = "genetic"
    """A genetic algorithm: a front of latency, energy and the like."""
    CONSTRAINT = "constraint"
    """Constraint programming (CP-SAT): the least latency, with a bound."""
    BOTH = "both"
    """First by constraints; what they find is in the first generation."""


class StreamPlan(Frozen, frozen=True):
    """How a network is mapped onto several cores.

    ``split``: how layers are cut into computation nodes; ``None``: as the core mapping says, else
    not at all. ``core``: how a node is mapped onto a core. ``schedule``: how an allocation is
    scheduled. ``engine`` looks for allocations as ``genetic`` and ``constraint`` say.
    ``objective``: what the reported schedule has least of, among those that no other one beats.
    """

    split: SplitOptions | None = None
    core: SearchPlan = CORE_PLAN
    schedule: ScheduleOptions = ScheduleOptions()
    engine: Engine = Engine.GENETIC
    genetic: GeneticOptions = GeneticOptions()
    constraint: ConstraintOptions = ConstraintOptions()
    objective: Objective = Objective.LATENCY

    @classmethod
    def of(cls, options: StreamOptions, split: SplitOptions | None = None) -> StreamPlan:
        """The plan that options describe.

        Raises:
            InputError: where an option is not possible.
        """
        objectives = _objectives(options.objectives)
        rule = named(CandidateRule, options.rule, "rule")
        try:
            return cls(
                split=split,
                core=_core_plan(options),
                schedule=ScheduleOptions(rule=rule, prefetch=tuple(options.prefetch)),
                engine=named(Engine, options.engine, "engine"),
                genetic=_genetic(options, objectives),
                constraint=ConstraintOptions(seed=options.seed),
                objective=_reported(objectives),
            )
        except ValidationError as error:
            raise InputError("stream plan", *explained(error)) from None


def stream_plan(  # noqa: PLR0913 (every option by keyword)
    *,
    split: SplitOptions | None = None,
    objectives: Sequence[AllocationObjective | str] = DEFAULTS.objectives,
    rule: CandidateRule | str = DEFAULTS.rule,
    prefetch: Sequence[str] = DEFAULTS.prefetch,
    engine: Engine | EngineName = Engine.GENETIC,
    individuals: int = DEFAULTS.individuals,
    generations: int = DEFAULTS.generations,
    patience: int | None = DEFAULTS.patience,
    seed: int = DEFAULTS.seed,
    lpf_limit: int | None = DEFAULTS.lpf_limit,
    core_objective: Objective | ObjectiveName = Objective.LATENCY,
) -> StreamPlan:
    """The plan with options given by keyword.

    ``split`` says how layers are cut into computation nodes (None: as the core mapping says); all
    others are those of :class:`~nestmap.pipeline.multicore.options.StreamOptions`.

    Raises:
        InputError: where an option is not possible.
    """
    options = StreamOptions(
        objectives=objectives,
        rule=rule,
        prefetch=prefetch,
        engine=engine,
        individuals=individuals,
        generations=generations,
        patience=patience,
        seed=seed,
        lpf_limit=lpf_limit,
        core_objective=core_objective,
    )
    return StreamPlan.of(options, split)


def _core_plan(options: StreamOptions) -> SearchPlan:
    objective = named(Objective, options.core_objective, "core_objective")
    search = LomaStage(lpf_limit=options.lpf_limit)
    return replaced(CORE_PLAN, {"objective": objective, "search": search})


def _genetic(options: StreamOptions, objectives: tuple[AllocationObjective, ...]) -> GeneticOptions:
    return GeneticOptions(
        individuals=options.individuals,
        generations=options.generations,
        patience=options.patience,
        objectives=objectives,
        seed=options.seed,
    )


def _objectives(names: Sequence[str]) -> tuple[AllocationObjective, ...]:
    objectives = tuple(named(AllocationObjective, name, "objective") for name in names)
    if len(set(objectives)) != len(objectives):
        raise InputError("objective", ", ".join(objectives), "each objective once")
    return objectives


def _reported(objectives: Sequence[AllocationObjective]) -> Objective:
    """What the reported one of a front has least of."""
    known = [x.value for x in objectives if x is not AllocationObjective.MEMORY]
    return Objective(known[0]) if known else Objective.LATENCY


@final
@dataclass(frozen=True)
class Costing:
    """What is known of costs before, and who wants to know how far the search for them is."""

    ledger: CostLedger | None = None
    watcher: Watcher | None = None


def splitting_stage(plan: StreamPlan) -> Stage[StreamProblem, SplitProblem]:
    """The stage that cuts layers into computation nodes."""
    return GenerateCNWorkloadHybridStage(options=plan.split)


def check_prefetch(plan: StreamPlan, split: SplitProblem) -> None:
    """Checks that there are constants under the names of operands that are sent beforehand.

    Raises:
        InputError: where no layer has such a constant operand.
    """
    known = {x.operand for layer in split.nodes.layers for x in layer.nest.constants}
    for name in plan.schedule.prefetch:
        if name not in known:
            found = f"operand {name}, which is no constant of any layer"
            raise InputError("prefetch", found, suggestion(name, sorted(known)))


def costing_stage(plan: StreamPlan, costing: Costing) -> Stage[SplitProblem, ScheduleProblem]:
    """The stage that finds what nodes cost on cores; what the ledger knows is not searched."""
    costs = core_cost_stage(plan.core, costs=costing.ledger, watcher=costing.watcher)
    return IntraCoreMappingStage(costs=costs, options=plan.schedule)


def stream_pipeline(plan: StreamPlan, workers: int = 1) -> Stage[StreamProblem, Schedule]:
    """All of it: nodes, their costs, the search for allocations, the schedule of the best one."""
    search: Stage[ScheduleProblem, AllocationSearch]
    search = InterCoreMappingStage(options=plan.genetic, workers=workers)
    best = BestAllocationStage(AllocationObjective(plan.objective.value))
    return splitting_stage(plan) >> costing_stage(plan, Costing()) >> search >> best
