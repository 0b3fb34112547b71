"""How a network is mapped onto several cores."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Final

from pydantic import ValidationError

from nestmap.model import Counting, Frozen, InputError, Objective
from nestmap.model.evaluation.objective import ALLOCATION_OBJECTIVES, AllocationObjective
from nestmap.model.multicore.schedule import CandidateRule, ScheduleOptions
from nestmap.model.multicore.split_options import SplitOptions
from nestmap.pipeline.explore.choices import member_by_name, named
from nestmap.pipeline.explore.options import ObjectiveName, SearchOptions
from nestmap.pipeline.explore.plan import SearchPlan
from nestmap.pipeline.multicore.core_plan import CORE_PLAN
from nestmap.pipeline.multicore.options import AllocationOptions, EngineName, StreamOptions
from nestmap.search.multicore.allocation.cp_sat_search import ConstraintOptions
from nestmap.search.multicore.allocation.genetic import GeneticOptions

DEFAULTS: Final = StreamOptions()


class Engine(StrEnum):
    """The algorithm that searches for the best allocation of nodes to cores."""

    GENETIC = "genetic"
    """A genetic algorithm: a Pareto front of the objectives."""
    CONSTRAINT = "constraint"
    """Constraint programming (CP-SAT): minimizes latency and proves a lower bound."""
    BOTH = "both"
    """Constraint programming first; its best allocation joins the first generation."""


class StreamPlan(Frozen, frozen=True):
    """How a network is mapped onto several cores.

    ``split``: how layers are split into computation nodes; ``None``: according to the core
    mapping, or layer by layer. ``core``: how a node is mapped onto a core. ``schedule``: how an
    allocation is scheduled. ``engine``: how to search for allocations, with the options
    ``genetic`` and ``constraint``. ``objective``: selects the reported schedule from the Pareto
    front.
    """

    split: SplitOptions | None = None
    core: SearchPlan = CORE_PLAN
    schedule: ScheduleOptions = ScheduleOptions()
    engine: Engine = Engine.GENETIC
    genetic: GeneticOptions = GeneticOptions()
    constraint: ConstraintOptions = ConstraintOptions()
    objective: Objective = Objective.LATENCY

    @property
    def is_reference(self) -> bool:
        """Whether costs are those of the reference, on cores and between them."""
        return self.split is not None and self.split.counting is Counting.REFERENCE

    @classmethod
    def of(cls, options: StreamOptions, split: SplitOptions | None = None) -> StreamPlan:
        """The plan with these options.

        Raises:
            InputError: where an option is invalid.
        """
        objectives, allocation = _objectives(options.objectives), options.allocation
        rule = member_by_name(CandidateRule, allocation.rule, "rule")
        try:
            return cls(
                split=split,
                core=_core_plan(options),
                schedule=ScheduleOptions(rule=rule, prefetch=tuple(allocation.prefetch)),
                engine=member_by_name(Engine, allocation.engine, "engine"),
                genetic=_genetic(allocation, objectives),
                constraint=ConstraintOptions(seed=allocation.seed),
                objective=_reported(objectives),
            )
        except ValidationError as error:
            raise InputError.of("stream plan", error) from None


def stream_plan(  # noqa: PLR0913 (every option by keyword)
    *,
    split: SplitOptions | None = None,
    objectives: Sequence[AllocationObjective | str] = DEFAULTS.objectives,
    rule: CandidateRule | str = DEFAULTS.allocation.rule,
    prefetch: Sequence[str] = DEFAULTS.allocation.prefetch,
    engine: Engine | EngineName = Engine.GENETIC,
    individuals: int = DEFAULTS.allocation.individuals,
    generations: int = DEFAULTS.allocation.generations,
    patience: int | None = DEFAULTS.allocation.patience,
    seed: int = DEFAULTS.allocation.seed,
    lpf_limit: int | None = DEFAULTS.lpf_limit,
    core_objective: Objective | ObjectiveName | None = None,
) -> StreamPlan:
    """Makes a plan from options given by keyword.

    ``split`` determines how layers are split into computation nodes (None: according to the core
    mapping). :class:`~nestmap.pipeline.multicore.options.StreamOptions` and
    :class:`~nestmap.pipeline.multicore.options.AllocationOptions` describe the other options.

    Raises:
        InputError: where an option is invalid.
    """
    allocation = AllocationOptions(
        rule=rule,
        prefetch=prefetch,
        engine=engine,
        individuals=individuals,
        generations=generations,
        patience=patience,
        seed=seed,
    )
    options = StreamOptions(
        objectives=objectives,
        allocation=allocation,
        lpf_limit=lpf_limit,
        core_objective=core_objective,
    )
    return StreamPlan.of(options, split)


def _core_plan(options: StreamOptions) -> SearchPlan:
    asked = named(Objective, options.core_objective, "core_objective")
    objectives = _mapped(_objectives(options.objectives))
    objective = objectives[0] if len(objectives) == 1 else CORE_PLAN.objective
    limit: SearchOptions = {} if options.lpf_limit is None else {"lpf_limit": options.lpf_limit}
    return CORE_PLAN.with_options({"objective": asked or objective, **limit})


def _genetic(
    options: AllocationOptions, objectives: tuple[AllocationObjective, ...]
) -> GeneticOptions:
    return GeneticOptions(
        individuals=options.individuals,
        generations=options.generations,
        patience=options.patience,
        objectives=objectives,
        seed=options.seed,
    )


def _objectives(names: Sequence[str]) -> tuple[AllocationObjective, ...]:
    objectives = tuple(member_by_name(ALLOCATION_OBJECTIVES, name, "objective") for name in names)
    if len(set(objectives)) != len(objectives):
        raise InputError("objective", ", ".join(objectives), "each objective once")
    return objectives


def _reported(objectives: Sequence[AllocationObjective]) -> Objective:
    """The objective that selects the reported schedule from a front."""
    return next(iter(_mapped(objectives)), Objective.LATENCY)


def _mapped(objectives: Sequence[AllocationObjective]) -> list[Objective]:
    """The objectives that mappings on a core decide."""
    return [x for x in objectives if isinstance(x, Objective)]
