"""How a network is mapped onto several cores, and the stages that do it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal, TypeVar, final

from pydantic import ValidationError

from nestmap.model import Frozen, InputError, Objective
from nestmap.model.base import replaced
from nestmap.model.errors import suggestion
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
from nestmap.pipeline.explore.plan import SearchPlan
from nestmap.pipeline.multicore.core_plan import CORE_PLAN, core_cost_stage
from nestmap.pipeline.stage import Stage
from nestmap.pipeline.stages.mapping.loma import LomaStage
from nestmap.pipeline.stages.multicore.cost_ledger import CostLedger
from nestmap.pipeline.stages.multicore.inter_core import BestAllocationStage, InterCoreMappingStage
from nestmap.pipeline.stages.multicore.intra_core import IntraCoreMappingStage, Watcher
from nestmap.pipeline.stages.multicore.split import GenerateCNWorkloadHybridStage
from nestmap.search.multicore.allocation.cp_sat_search import ConstraintOptions
from nestmap.search.multicore.allocation.genetic import GeneticOptions

Choice = TypeVar("Choice", bound=StrEnum)


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


def stream_plan(  # noqa: PLR0913 (what a user may want to say about a schedule)
    *,
    split: SplitOptions | None = None,
    objectives: Sequence[AllocationObjective | str] = ("latency", "energy"),
    rule: CandidateRule | str = CandidateRule.LATENCY,
    prefetch: Sequence[str] = (),
    engine: Engine | Literal["genetic", "constraint", "both"] = Engine.GENETIC,
    individuals: int = 32,
    generations: int = 100,
    patience: int | None = None,
    seed: int = 0,
    lpf_limit: int | None = 6,
    core_objective: Objective | Literal["latency", "energy", "edp"] = Objective.LATENCY,
) -> StreamPlan:
    """The plan out of the choices of a user.

    Args:
        split: how layers are cut into computation nodes; ``None``: as the core mapping says.
        objectives: what shall be small: latency, energy, edp or memory; several make a front, of
            which the one with the least of the first (but for memory) is reported.
        rule: which node is scheduled next: latency, memory or critical.
        prefetch: constant operands that are sent to their cores before anything runs.
        engine: who looks for allocations: genetic, constraint or both.
        individuals: allocations that each generation looks at.
        generations: how many follow the first one.
        patience: ends the search after so many generations without a better front.
        seed: decides all that is random.
        lpf_limit: into how many loop factors the search on a core cuts a node at most.
        core_objective: what the mapping of a node onto a core has least of.

    Raises:
        InputError: where one of them is not possible.
    """
    wanted = tuple(_one_of("objective", AllocationObjective, x) for x in objectives)
    if len(set(wanted)) != len(wanted):
        raise InputError("objective", f"{', '.join(wanted)}", "different ones")
    try:
        return StreamPlan(
            split=split,
            core=replaced(
                CORE_PLAN,
                {
                    "objective": _one_of("core_objective", Objective, core_objective),
                    "search": LomaStage(lpf_limit=lpf_limit),
                },
            ),
            schedule=ScheduleOptions(
                rule=_one_of("rule", CandidateRule, rule), prefetch=tuple(prefetch)
            ),
            engine=_one_of("engine", Engine, engine),
            genetic=GeneticOptions(
                individuals=individuals,
                generations=generations,
                patience=patience,
                objectives=wanted,
                seed=seed,
            ),
            constraint=ConstraintOptions(seed=seed),
            objective=_reported(wanted),
        )
    except ValidationError as error:
        raise InputError.of("stream plan", error) from None


def _one_of(where: str, kind: type[Choice], given: str) -> Choice:
    try:
        return kind(given)
    except ValueError:
        names = ", ".join(x.value for x in kind)
        raise InputError(where, repr(given), f"one of {names}") from None


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
