"""Chooses how the designs of a space are explored: by what its base is, from options or a plan."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias, cast

from nestmap.model import InputError, Objective
from nestmap.model.base import copy_with
from nestmap.model.design_space.objective import SweepObjective, expression_of
from nestmap.model.design_space.space import DesignSpace
from nestmap.model.multicore.split_options import SplitOptions
from nestmap.pipeline.explore.choices import named
from nestmap.pipeline.explore.options import DesignSearchOptions, SearchOptions
from nestmap.pipeline.explore.plan import SearchPlan
from nestmap.pipeline.frontend.yaml.design_space import LocatedSpace
from nestmap.pipeline.multicore.options import AllocationOptions, StreamOptions
from nestmap.pipeline.multicore.plan import Engine, StreamPlan
from nestmap.pipeline.sweep.methods.method import SweepMethod
from nestmap.pipeline.sweep.methods.one_core import OneCore
from nestmap.pipeline.sweep.methods.several_cores import SeveralCores
from nestmap.pipeline.sweep.space.base_format import names_multicore
from nestmap.pipeline.sweep.space.checked_cores import check_cores
from nestmap.pipeline.sweep.space.checked_space import check_space

if TYPE_CHECKING:
    from nestmap.store import Store

SweepPlan: TypeAlias = SearchPlan | StreamPlan
"""How designs with a single core, or with several, are explored."""


def sweep_method(
    located: LocatedSpace,
    options: DesignSearchOptions,
    plan: SweepPlan | None = None,
    *,
    static_energy: bool = False,
    store: Store | Path | str | None = None,
) -> SweepMethod:
    """Reads and checks all that a space names, and makes the plan for its designs.

    Args:
        located: the space.
        options: override the plan; for several cores, its search for mappings on a core.
        plan: by default that for each objective of the space that mappings decide, and for the
            energy-delay product where both energy and latency are among these.
        static_energy: whether energies include leakage, for a single core.
        store: caches the memory costs that CACTI computes.

    Raises:
        InputError: where an option, the space or what it names is invalid.
        StoreError: where the store is needed and cannot be used.
    """
    if names_multicore(located.space.accelerator):
        if static_energy:
            hint = "each core says it for itself: static_energy in its description"
            raise InputError.conflict("static energy", "a base with several cores", hint)
        if isinstance(plan, SearchPlan):
            raise InputError("plan", "a SearchPlan, and the base has several cores", "a StreamPlan")
        chosen = stream_plan_of_sweep(located.space, options, plan)
        checked_cores = check_cores(located, chosen, store=store)
        located.warn_of_unused_parts()
        return SeveralCores(checked_cores, chosen, _scheduled_for(chosen, options))
    if isinstance(plan, StreamPlan):
        raise InputError("plan", "a StreamPlan, and the base has a single core", "a SearchPlan")
    searched = plan_of_sweep(located.space, options, plan)
    counting = searched.counting
    checked = check_space(located, static_energy=static_energy, counting=counting, store=store)
    searched.check_segments(checked.constraints)
    located.warn_of_unused_parts()
    is_given = plan is not None or _states_objective(options)
    mapped_for = (searched.objective,) if is_given else mapping_objectives(located.space)
    return OneCore(checked, searched, mapped_for)


def plan_of_sweep(
    space: DesignSpace, options: DesignSearchOptions, plan: SearchPlan | None = None
) -> SearchPlan:
    """The plan of a sweep: as given, or for the first objective that mappings decide.

    Raises:
        InputError: where an option is invalid.
    """
    if plan is not None:
        return plan.with_options(_search_options(options))
    first = mapping_objectives(space)[0]
    made = SearchPlan.of(_search_options(options))
    return made if _states_objective(options) else copy_with(made, {"objective": first})


def _states_objective(options: DesignSearchOptions) -> bool:
    """Whether each design is mapped for one objective: what is limited leaves one, too."""
    return options.get("objective") is not None or options.get("at_most") is not None


def default_stream_plan(
    space: DesignSpace,
    allocation: AllocationOptions = AllocationOptions(),  # noqa: B008 (it cannot change)
    split: SplitOptions | None = None,
) -> StreamPlan:
    """The plan of schedules for what the objectives of a space need other than the area.

    The genetic search minimizes all of it.

    Raises:
        InputError: where an option is invalid.
    """
    objectives = [x.value for x in _decided(space)] or [Objective.ENERGY.value]
    return StreamPlan.of(StreamOptions(objectives=objectives, allocation=allocation), split)


def stream_plan_of_sweep(
    space: DesignSpace, options: DesignSearchOptions, plan: StreamPlan | None = None
) -> StreamPlan:
    """The plan of the schedules of a sweep: as given, or the default one.

    The options other than ``objective`` and ``workers`` are those of the search for mappings on a
    core; ``reference`` is for splits, which decide how costs are counted.

    Raises:
        InputError: where an option is invalid.
    """
    chosen = default_stream_plan(space) if plan is None else plan
    first = named(Objective, options.get("objective"), "objective")
    if first is not None:
        others = [x for x in chosen.genetic.objectives if x is not first]
        genetic = copy_with(chosen.genetic, {"objectives": (first, *others)})
        chosen = copy_with(chosen, {"genetic": genetic, "objective": first})
    of_core = _search_options(options)
    of_core.pop("objective", None)
    for name in ("at_most", "keep_on_chip", "fuse", "fuse_depth", "tiles"):
        if of_core.get(name):
            hint = "it is for mappings on a single core"
            raise InputError.conflict(name, "several cores", hint)
    if of_core.pop("reference", None) and not chosen.is_reference:
        hint = "give a plan whose split counts so: counting=Counting.REFERENCE"
        raise InputError.conflict("reference", "several cores", hint)
    core = chosen.core.with_options({**of_core, "workers": 1})
    return copy_with(chosen, {"core": core})


def _search_options(options: DesignSearchOptions) -> SearchOptions:
    """The options as those of a search, which has others besides."""
    return cast("SearchOptions", {key: x for key, x in options.items() if key != "on"})


def mapping_objectives(space: DesignSpace) -> tuple[Objective, ...]:
    """What the mappings of a design minimize in turn: what the objectives of its space need.

    The energy-delay product is between energy and latency where both count.
    """
    return _with_product(_decided(space)) or (Objective.ENERGY,)


def _scheduled_for(plan: StreamPlan, options: DesignSearchOptions) -> tuple[Objective, ...]:
    """What the schedules of a design minimize in turn: the objectives of the genetic search.

    Constraint programming minimizes the latency alone.
    """
    if options.get("objective") is not None or plan.engine is Engine.CONSTRAINT:
        return (plan.objective,)
    others = (x for x in Objective if x in plan.genetic.objectives)
    return _with_product(list(dict.fromkeys((plan.objective, *others))))


def _with_product(found: list[Objective]) -> tuple[Objective, ...]:
    both = {Objective.ENERGY, Objective.LATENCY} <= set(found)
    return tuple(dict.fromkeys((*found, Objective.EDP) if both else found))


def _decided(space: DesignSpace) -> list[Objective]:
    """What mappings or schedules minimize for the objectives that they decide, each once."""
    found = (_needed(x) for x in space.objectives)
    return list(dict.fromkeys(x for x in found if x is not None))


def _needed(objective: SweepObjective) -> Objective | None:
    """What mappings minimize for an objective; ``None`` if they do not decide it."""
    names = expression_of(objective).names
    needed = [x for x in Objective if x.value in names]
    return Objective.EDP if len(needed) > 1 else next(iter(needed), None)
