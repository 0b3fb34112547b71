"""The facade for several cores: splits a network, then allocates and schedules its nodes."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, final
from uuid import UUID

from nestmap.model import InputError, RunLabel, StoreError, narrow_sums
from nestmap.model.base import copy_with
from nestmap.model.display import costs_text, html, view
from nestmap.model.evaluation.objective import AllocationObjective
from nestmap.model.multicore.accelerator import CoreId
from nestmap.model.multicore.allocation import Allocation, Fitness, Individual, StreamBound
from nestmap.model.multicore.core_constraints import check_allocations
from nestmap.model.multicore.placed_tilings import resolve_names
from nestmap.model.multicore.problem import SplitProblem, StreamProblem
from nestmap.model.multicore.schedule import AllocationSearch, Schedule, ScheduleProblem
from nestmap.pipeline.explore.api import label_of_run
from nestmap.pipeline.frontend.read.accelerator import read_core_mapping, read_multicore
from nestmap.pipeline.frontend.read.workload import read_workload
from nestmap.pipeline.multicore.pipeline import rebuild_problem, split_network, stream_pipeline
from nestmap.pipeline.multicore.plan import StreamPlan
from nestmap.pipeline.multicore.run import ScheduleRun, StreamJob, StreamPorts, StreamProgress
from nestmap.pipeline.render.notebook.schedule import schedule_html, search_html
from nestmap.pipeline.stages.multicore.inter_core import make_evaluator, schedule_allocation
from nestmap.pipeline.stages.multicore.split import GivenLoops, split_options
from nestmap.search.multicore.allocation.initial_allocations import single_core_allocations
from nestmap.search.parallel import available_workers

if TYPE_CHECKING:
    from nestmap.pipeline.frontend.given import GivenCoreMapping, GivenCores, GivenWorkload
    from nestmap.store import Store

# --- A network on a single core: what a schedule on several cores is compared with ---


@final
@dataclass(frozen=True, slots=True)
class SingleCoreSchedule:
    """The allocation of all node groups that a core can run to that core, and its costs.

    The other node groups, such as those of vector operators, are on their fastest core.
    """

    core: CoreId
    allocation: Allocation
    fitness: Fitness


def best_on_single_core(
    problem: ScheduleProblem, objective: AllocationObjective
) -> SingleCoreSchedule | None:
    """The best of these over all cores; ``None`` if none of them can be scheduled."""
    allocations = single_core_allocations(problem)
    costs = make_evaluator(problem, 1)(tuple(allocations.values()))
    known = [
        SingleCoreSchedule(core, allocation, fitness)
        for (core, allocation), fitness in zip(allocations.items(), costs, strict=True)
        if fitness is not None
    ]
    return min(known, key=lambda one: one.fitness.of(objective), default=None)


# --- the facade for several cores ---


@final
@dataclass(frozen=True, eq=False)
class StreamResult:
    """The result of an exploration on several cores: a Pareto front and the best schedule."""

    run: UUID
    workload: str
    plan: StreamPlan
    search: AllocationSearch
    schedule: Schedule

    _repr_html_ = html

    def __repr__(self) -> str:
        costs = costs_text(self.latency, self.energy)
        name = f"{type(self).__name__}: {self.workload} on {self.accelerator}"
        return f"<{name}, best {self.plan.objective}: {costs}, {len(self.front)} on the front>"

    @property
    def accelerator(self) -> str:
        """The name of the accelerator."""
        return self.problem.accelerator.name

    @property
    def problem(self) -> ScheduleProblem:
        """The scheduled problem: the nodes, their costs, and the cores on which each may run."""
        return self.search.problem

    @property
    def front(self) -> tuple[Individual, ...]:
        """The Pareto front of allocations."""
        return self.search.front

    @property
    def bound(self) -> StreamBound | None:
        """The result of constraint programming, if the engine of the plan includes it."""
        return self.search.bound

    @property
    def best(self) -> Individual:
        """The allocation of the reported schedule."""
        return self.search.best(self.plan.objective)

    @property
    def latency(self) -> int:
        """Latency of the reported schedule in cycles."""
        return self.schedule.latency

    @property
    def energy(self) -> float:
        """Energy of the reported schedule in pJ."""
        return self.schedule.energy.total

    @cached_property
    def single_core(self) -> SingleCoreSchedule | None:
        """The best schedule on a single core; ``None`` if there is none."""
        return best_on_single_core(self.problem, self.plan.objective)

    def scheduled(self, allocation: Allocation) -> Schedule:
        """The schedule of another allocation.

        Raises:
            InfeasibleError: where the allocation cannot be scheduled.
        """
        return schedule_allocation(self.problem, allocation)


@view.register
def stream_html(found: StreamResult) -> str:
    """The reported schedule and the front as tables, for notebooks."""
    return schedule_html(found.schedule) + search_html(found.search)


def stream(  # noqa: PLR0913 (the single entry point; most arguments have defaults)
    workload: GivenWorkload,
    accelerator: GivenCores,
    mapping: GivenCoreMapping | None = None,
    *,
    dims: Mapping[str, int] | None = None,
    hint_loops: GivenLoops | None = None,
    plan: StreamPlan | None = None,
    workers: int | None = None,
    store: Store | Path | str | None = None,
    label: RunLabel | str | None = None,
    progress: StreamProgress | None = None,
) -> StreamResult:
    """Splits a network into computation nodes, allocates them to cores and schedules them.

    Args:
        workload: a network or a layer, an ONNX or YAML file, the name of a bundled one
            (``light:resnet50``), or the layers of a YAML file as dictionaries.
        accelerator: an accelerator with several cores: a model, a YAML file, or the name of a
            bundled one (``quad_hetero``).
        mapping: the cores on which each layer may run, and how layers are split: a model or a YAML
            file. By default a layer may run on all cores that support its operator.
        dims: sizes of the dimensions that the network leaves open: ``{"batch": 1}``.
        hint_loops: the loops along which layers are split, innermost first: ``[("OY", "all")]``;
            ``plan.split`` has more options. The default is the splitting in the mapping, or layer
            by layer.
        plan: all other options; :func:`~nestmap.pipeline.multicore.plan.stream_plan` makes one.
        workers: threads or processes (``None``: one per core of this computer); results do not
            depend on their number.
        store: where costs, generations and the schedule are recorded: a store, or a DuckDB file
            (created if missing). Costs that it holds already are not searched again.
        label: what the store calls the run: a name, which other runs may have too, or a
            :class:`~nestmap.model.RunLabel` with tags.
        progress: receives progress updates.

    Raises:
        InputError: where an argument is invalid.
        InfeasibleError: where no allocation can be scheduled.
        StoreError: where the store cannot be written.
    """
    chosen = plan or StreamPlan()
    if hint_loops is not None:
        if chosen.split is not None:
            raise InputError.conflict("hint_loops", "plan.split", "use one of them")
        chosen = copy_with(chosen, {"split": split_options(1, hint_loops)})
    problem = read_stream(workload, accelerator, mapping, dims=dims, store=store)
    threads = available_workers() if workers is None else workers
    job = StreamJob(problem, chosen, threads, label_of_run(label, store))
    return stream_problem(job, store=store, progress=progress)


def read_stream(
    workload: GivenWorkload,
    accelerator: GivenCores,
    mapping: GivenCoreMapping | None = None,
    *,
    dims: Mapping[str, int] | None = None,
    store: Store | Path | str | None = None,
) -> StreamProblem:
    """Reads and checks the inputs of :func:`stream`.

    Raises:
        InputError: where an argument is invalid.
        StoreError: where the store is needed and cannot be used.
    """
    network, machine = read_workload(workload, dims), read_multicore(accelerator, store)
    network = narrow_sums(network, machine.room_for_sums)
    cores = resolve_names(read_core_mapping(mapping), network)
    named = isinstance(mapping, str | Path)
    check_allocations(cores, network, machine, str(mapping) if named else "mapping")
    return StreamProblem(workload=network, accelerator=machine, mapping=cores)


def stream_problem(
    job: StreamJob,
    *,
    store: Store | Path | str | None = None,
    progress: StreamProgress | None = None,
) -> StreamResult:
    """Runs a job, with a new run in the store if there is one.

    Raises:
        InputError: where the options do not suit the network.
        InfeasibleError: where no allocation can be scheduled.
        StoreError: where the store cannot be written.
    """
    # splitting is fast and checks the input, so that a job with invalid input is not recorded
    split = split_network(job.plan, job.problem)
    with _open_run(job, store) as run:
        return carry_out_stream(job, split, run, progress)


@contextmanager
def _open_run(job: StreamJob, store: Store | Path | str | None) -> Generator[ScheduleRun]:
    """A new run, recorded where a store is given."""
    if store is None:
        yield ScheduleRun.unrecorded()
        return
    # imported only when a store is used: DuckDB takes long to import
    from nestmap.pipeline.multicore.recording import record_run  # noqa: PLC0415

    with record_run(job, store) as run:
        yield run


def carry_out_stream(
    job: StreamJob, split: SplitProblem, run: ScheduleRun, progress: StreamProgress | None
) -> StreamResult:
    """Runs the pipeline of a job in an open run, and finishes the run.

    Raises:
        InputError: where the mapping does not suit the network.
        InfeasibleError: where no allocation can be scheduled.
        StoreError: where the store cannot be written.
    """
    if progress is not None:
        progress.split(split)
    pipeline = stream_pipeline(job, StreamPorts(run.ledger, progress))
    run.record_pipeline(pipeline)
    found = pipeline(job.problem)
    run.finish(found.schedule)
    name = job.problem.workload.name
    return StreamResult(run.id, name, job.plan, found.search, found.schedule)


def resume_stream(
    run: UUID,
    store: Store | Path | str,
    *,
    workers: int | None = None,
    progress: StreamProgress | None = None,
) -> StreamResult:
    """Resumes a run on several cores that was interrupted or has failed.

    Recorded costs and generations are not searched again; the result equals that of an
    uninterrupted run.

    Raises:
        StoreError: where there is no such run, it is done, or it cannot be resumed.
        InfeasibleError: where no allocation can be scheduled.
    """
    # DuckDB takes long to import
    from nestmap.pipeline.multicore.recording import read_job, resume_run  # noqa: PLC0415
    from nestmap.store import Store  # noqa: PLC0415

    threads = available_workers() if workers is None else workers
    with Store.borrow(store) as target:
        job = read_job(run, target.stream_info(run), threads)
        split = split_network(job.plan, job.problem)
        with resume_run(run, target) as resumed:
            return carry_out_stream(job, split, resumed, progress)


def recorded_stream(run: UUID, store: Store) -> StreamResult:
    """The recorded result of a finished run on several cores; its schedule is recomputed.

    Raises:
        StoreError: where there is no such run, or it has no schedule.
    """
    from nestmap.pipeline.multicore.recording import RecordedCosts, read_job  # noqa: PLC0415 (as above)

    job, found = read_job(run, store.stream_info(run), 1), store.stream(run)
    if found.reported is None:
        raise StoreError(
            f"run {run}: found no schedule, it is {store.run(run).status}; expected a run that is "
            "done"
        )
    problem = rebuild_problem(job, RecordedCosts(store))
    objectives = job.plan.genetic.objectives
    search = AllocationSearch(problem, objectives, found.generation, found.bound)
    schedule = schedule_allocation(problem, found.reported)
    return StreamResult(run, job.problem.workload.name, job.plan, search, schedule)
