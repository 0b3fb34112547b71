"""The facade: explores the designs of a space in one call."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from types import EllipsisType
from typing import TYPE_CHECKING, NamedTuple, Protocol

from nestmap.model import InputError, Objective, Recording, RecordMode
from nestmap.model.base import copy_with
from nestmap.model.design_space.result import DesignResult
from nestmap.model.design_space.space import DesignObjective, DesignSpace
from nestmap.pipeline.explore.choices import member_by_name
from nestmap.pipeline.explore.options import EveryName, ObjectiveName, SearchName, SearchOptions
from nestmap.pipeline.explore.plan import SearchPlan
from nestmap.pipeline.sweep.checked_space import (
    CheckedSpace,
    GivenSpace,
    check_space,
    located_space,
)
from nestmap.pipeline.sweep.choice import Choice, choose_designs
from nestmap.pipeline.sweep.explore_designs import ExploreDesigns
from nestmap.pipeline.sweep.explorer import recording_explorer, unrecorded_explorer
from nestmap.pipeline.sweep.options import Strategy, StrategyName
from nestmap.pipeline.sweep.place import LocalProcesses, Place, parse_place
from nestmap.pipeline.sweep.result import Front, SweepResult, figures_of
from nestmap.search.parallel import available_workers

if TYPE_CHECKING:
    from nestmap.store import Store


class SweepProgress(Protocol):
    """Receives the progress of a sweep."""

    def start(self, designs: int) -> None:
        """The sweep of so many designs begins."""

    def explored(self, design: DesignResult, front: int) -> None:
        """A design is explored; this many are on the front now."""


class SweepJob(NamedTuple):
    """What a sweep explores: the space, the designs chosen, how to search each."""

    checked: CheckedSpace
    choice: Choice
    plan: SearchPlan


def sweep(  # noqa: PLR0913 (the single entry point; all but the space have defaults)
    space: GivenSpace,
    *,
    strategy: Strategy | StrategyName = "grid",
    designs: int | None = None,
    design_seed: int = 0,
    plan: SearchPlan | None = None,
    objective: Objective | ObjectiveName | None = None,
    search: SearchName | None = None,
    lpf_limit: int | EllipsisType | None = ...,
    time_limit: float | None = None,
    spatial_mappings: int | EveryName | None = None,
    workers: int | None = None,
    on: str | None = None,
    static_energy: bool = False,
    store: Store | Path | str | None = None,
    recording: Recording | None = None,
    progress: SweepProgress | None = None,
) -> SweepResult:
    """Explores networks on the designs of a space, and finds the Pareto front.

    Everything is read and checked before the first design is explored. Results depend neither on
    the number of workers nor on the store, unless a time limit ends a search.

    Args:
        space: a design space, a YAML file, or the fields of one as a dictionary.
        strategy: all designs (``grid``), or ``designs`` of them: in random order (``random``), or
            sampled by what is known of those before, by Optuna's NSGA-II (``nsga2``) or TPE
            (``tpe``), which ``pip install 'nestmap[optuna]'`` installs.
        designs: how many designs, each once, unless all.
        design_seed: determines which ones.
        plan: how to search the mappings of each design. The options from ``objective`` to
            ``spatial_mappings`` override it if given; see
            :class:`~nestmap.pipeline.explore.options.SearchOptions`.
        objective: what the mapping of each layer minimizes. Default: that of the plan, otherwise
            the first objective of the space that is not the area, or energy.
        search: how to search temporal mappings.
        lpf_limit: the largest number of loop factors, for LOMA.
        time_limit: seconds after which the exact search of a layer tries no further spatial
            mapping.
        spatial_mappings: how many spatial mappings to try.
        workers: designs that are explored at a time (``None``: one per core). With a store, the
            threads for each design.
        on: ``local:N`` explores designs in N processes instead of threads. A script that asks for
            it has its code under ``if __name__ == "__main__":``, because each process imports it.
            The address of a Dask scheduler (``tcp://HOST:PORT``) or its scheduler file explores
            them on the workers of a cluster (``pip install 'nestmap[cluster]'``).
        static_energy: whether energies include the leakage of memories and array.
        store: where each different accelerator and network is recorded as a run, with the tag
            ``sweep:NAME``: a store, or a DuckDB file (created if missing). Results that it holds
            already are not computed again, so a sweep that was interrupted is started again.
        recording: which evaluations are recorded; by default the front of each search.
        progress: receives progress updates.

    Raises:
        InputError: where an argument or the space is invalid, or no design meets the constraints.
        StoreError: where the store cannot be written.
    """
    located = located_space(space)
    chosen = member_by_name(Strategy, strategy, "strategy")
    options = SearchOptions(
        objective=objective,
        search=search,
        lpf_limit=lpf_limit,
        time_limit=time_limit,
        spatial_mappings=spatial_mappings,
        workers=workers,
    )
    searched = plan_of_sweep(located.space, options, plan)
    checked = check_space(located, static_energy=static_energy, store=store)
    drawn = choose_designs(checked, chosen, designs, design_seed)
    return run_sweep(
        SweepJob(checked, drawn, searched),
        workers=workers,
        on=on,
        store=store,
        recording=recording,
        progress=progress,
    )


def plan_of_sweep(
    space: DesignSpace, options: SearchOptions, plan: SearchPlan | None = None
) -> SearchPlan:
    """The plan of a sweep: as given, or for the first objective of the space.

    Raises:
        InputError: where an option is invalid.
    """
    if plan is not None:
        return plan.with_options(options)
    named = [Objective(x) for x in space.objectives if x is not DesignObjective.AREA]
    first = named[0] if named else Objective.ENERGY
    made = SearchPlan.of(options)
    return made if options.objective is not None else copy_with(made, {"objective": first})


def run_sweep(
    job: SweepJob,
    *,
    workers: int | None = None,
    on: str | None = None,
    store: Store | Path | str | None = None,
    recording: Recording | None = None,
    progress: SweepProgress | None = None,
) -> SweepResult:
    """Explores designs that have been chosen; the arguments are those of :func:`sweep`.

    Raises:
        InputError: where ``on`` is invalid or excludes another argument, or its processes end.
        StoreError: where the store cannot be written.
    """
    space, place = job.checked.space, checked_place(on, workers, store)
    if place is not None:
        rows = _elsewhere(job, place)
    else:
        rows = _unrecorded(job, workers) if store is None else _recorded(job, store, recording)
    found = tuple(_observed(rows, space, job.choice.most, progress))
    return SweepResult(
        space=space,
        base=job.checked.base,
        objective=job.plan.objective,
        designs=found,
        rejected=job.choice.rejected,
        static_energy=job.checked.static_energy,
    )


def checked_place(
    on: str | None, workers: int | None, store: Store | Path | str | None
) -> Place | None:
    """Where designs are explored, unless by this process.

    Raises:
        InputError: where ``on`` is invalid or excludes another argument.
    """
    if on is None:
        return None
    place = parse_place(on)
    if workers is not None:
        raise InputError.conflict("on", "workers", "it says how many designs at a time")
    if store is not None:
        raise InputError.conflict("on", "store", "runs are recorded by the process itself")
    return place


def _elsewhere(job: SweepJob, place: Place) -> Iterator[DesignResult]:
    """Several designs at a time, each in a process with one thread."""
    with _explorer_at(place, job.checked, job.plan.with_options(SearchOptions(workers=1))) as there:
        yield from job.choice.explored(there)


def _explorer_at(
    place: Place, checked: CheckedSpace, plan: SearchPlan
) -> AbstractContextManager[ExploreDesigns]:
    if isinstance(place, LocalProcesses):
        from nestmap.pipeline.sweep.processes import process_explorer  # noqa: PLC0415 (rarely used)

        return process_explorer(checked, plan, place.processes)
    from nestmap.pipeline.sweep.dask_cluster import dask_explorer  # noqa: PLC0415 (rarely used)

    return dask_explorer(checked, plan, place)


def _unrecorded(job: SweepJob, workers: int | None) -> Iterator[DesignResult]:
    """Several designs at a time, each with one thread."""
    alone = job.plan.with_options(SearchOptions(workers=1))
    count = available_workers() if workers is None else workers
    return job.choice.explored(unrecorded_explorer(job.checked, alone, count))


def _recorded(
    job: SweepJob, store: Store | Path | str, recording: Recording | None
) -> Iterator[DesignResult]:
    from nestmap.store import Store  # noqa: PLC0415 (takes long to import)

    kept = recording or Recording(record=RecordMode.BEST)
    with Store.borrow(store) as target:
        explore = recording_explorer(job.checked, job.plan, target, kept)
        yield from job.choice.explored(explore)


def _observed(
    rows: Iterator[DesignResult],
    space: DesignSpace,
    designs: int,
    progress: SweepProgress | None,
) -> Iterator[DesignResult]:
    if progress is None:
        yield from rows
        return
    progress.start(designs)
    front = Front()
    for place, row in enumerate(rows):
        front.add(figures_of(row, space.objectives), place)
        progress.explored(row, len(front))
        yield row
