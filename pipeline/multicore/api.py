"""The facade for several cores: split a network, cost its nodes, allocate and schedule them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, final
from uuid import UUID

from nestmap.model import InputError, StoreError, Workload
from nestmap.model.base import replaced
from nestmap.model.multicore.accelerator import MultiCoreAccelerator
from nestmap.model.multicore.allocation import Allocation
from nestmap.model.multicore.bound import StreamBound
from nestmap.model.multicore.core_constraints import CoreMapping, check_allocations
from nestmap.model.multicore.population import AllocationObjective, Generation, Individual
from nestmap.model.multicore.problem import SplitProblem, StreamProblem
from nestmap.model.multicore.schedule import Schedule, ScheduleProblem
from nestmap.model.multicore.search_result import AllocationSearch
from nestmap.pipeline.explore.plan import available_workers
from nestmap.pipeline.frontend.read import read_core_mapping, read_multicore, read_workload
from nestmap.pipeline.multicore.plan import (
    Costing,
    Engine,
    StreamPlan,
    check_prefetch,
    costing_stage,
    splitting_stage,
)
from nestmap.pipeline.multicore.run import (
    KeptStream,
    StreamJob,
    StreamKept,
    StreamProgress,
    begun_stream,
)
from nestmap.pipeline.render.notebook.schedule import schedule_html, search_html
from nestmap.pipeline.stages.multicore.inter_core import (
    BestAllocationStage,
    GenerationKeeper,
    InterCoreMappingStage,
    evaluator,
    scheduler,
)
from nestmap.pipeline.stages.multicore.split_options import GivenLoops, split_options
from nestmap.search.multicore.allocation.cp_sat_search import prove
from nestmap.search.multicore.allocation.initial_allocations import initial_allocations

if TYPE_CHECKING:
    import onnx

    from nestmap.store import Store


@final
@dataclass(frozen=True, eq=False)
class StreamResult:
    """The result of an exploration of several cores: a front of allocations, the best schedule.

    ``bound`` is what the search by constraints says, if that was asked for.
    """

    run: UUID
    workload: str
    plan: StreamPlan
    search: AllocationSearch
    schedule: Schedule
    bound: StreamBound | None

    @property
    def accelerator(self) -> str:
        """The name of the machine."""
        return self.problem.accelerator.name

    @property
    def problem(self) -> ScheduleProblem:
        """What was scheduled: the nodes, their costs, the cores that each may run on."""
        return self.search.problem

    @property
    def front(self) -> tuple[Individual, ...]:
        """The allocations that no other one beats."""
        return self.search.front

    @property
    def best(self) -> Individual:
        """The allocation whose schedule is reported."""
        return self.search.best(AllocationObjective(self.plan.objective.value))

    @property
    def latency(self) -> int:
        """Cycles of the reported schedule."""
        return self.schedule.latency

    @property
    def energy(self) -> float:
        """Energy of the reported schedule in pJ."""
        return self.schedule.energy.total

    def _repr_html_(self) -> str:
        """The reported schedule and the front as tables, for notebooks."""
        return schedule_html(self.schedule) + search_html(self.search)

    def scheduled(self, allocation: Allocation) -> Schedule:
        """The schedule of another allocation.

        Raises:
            InfeasibleError: where there is none.
        """
        return scheduler(self.problem, allocation)


def stream(  # noqa: PLR0913 (the one call that says it all; all but two arguments have defaults)
    workload: Workload | onnx.ModelProto | Path | str,
    accelerator: MultiCoreAccelerator | Path | str,
    mapping: CoreMapping | Path | str | None = None,
    *,
    dims: Mapping[str, int] | None = None,
    hint_loops: GivenLoops | None = None,
    plan: StreamPlan | None = None,
    workers: int | None = None,
    store: Store | Path | str | None = None,
    progress: StreamProgress | None = None,
) -> StreamResult:
    """Splits a network into computation nodes, and finds which core runs which of them when.

    Args:
        workload: a model, an ONNX or YAML file, or the name of a bundled one (``light:resnet50``).
        accelerator: a machine of several cores: a model, a YAML file, or the name of a bundled one
            (``quad_hetero``).
        mapping: which cores layers may run on, and how they are split: a model or a YAML file.
            Without: all that run their operator.
        dims: sizes of the dimensions that the network leaves open: ``{"batch": 1}``.
        hint_loops: along which loops layers are split, the innermost first: ``[("OY", "all")]``;
            other ways of splitting are in ``plan.split``. Without both: as the mapping says, else
            layer by layer.
        plan: everything else, as :func:`~nestmap.pipeline.multicore.plan.stream_plan` makes it.
        workers: threads or processes (``None``: one for each core of this computer); results do not
            depend on their number.
        store: where costs, generations and the schedule are kept: a store, or a DuckDB file (made
            if missing). What it knows of costs is not searched again.
        progress: who wants to know how far it is.

    Raises:
        InputError: where something given is not right.
        InfeasibleError: where no allocation can be scheduled.
        StoreError: where the store cannot be written.
    """
    chosen = plan or StreamPlan()
    if hint_loops is not None:
        if chosen.split is not None:
            raise InputError.conflict("hint_loops", "plan.split", "use one of them")
        chosen = replaced(chosen, {"split": split_options(1, hint_loops)})
    problem = read_stream(workload, accelerator, mapping, dims=dims, store=store)
    threads = available_workers() if workers is None else workers
    return stream_problem(StreamJob(problem, chosen, threads), store=store, progress=progress)


def read_stream(
    workload: Workload | onnx.ModelProto | Path | str,
    accelerator: MultiCoreAccelerator | Path | str,
    mapping: CoreMapping | Path | str | None = None,
    *,
    dims: Mapping[str, int] | None = None,
    store: Store | Path | str | None = None,
) -> StreamProblem:
    """What :func:`stream` is given, read and checked.

    Raises:
        InputError: where something given is not right.
        StoreError: where the store is needed and cannot be used.
    """
    network, machine = read_workload(workload, dims), read_multicore(accelerator, store)
    cores = read_core_mapping(mapping)
    named = isinstance(mapping, str | Path)
    check_allocations(cores, network, machine, str(mapping) if named else "mapping")
    return StreamProblem(workload=network, accelerator=machine, mapping=cores)


def stream_problem(
    job: StreamJob,
    *,
    store: Store | Path | str | None = None,
    progress: StreamProgress | None = None,
) -> StreamResult:
    """Does a job; recorded and observed.

    Raises:
        InputError: where the options do not suit the network.
        InfeasibleError: where no allocation can be scheduled.
        StoreError: where the store cannot be written.
    """
    split = splitting_stage(job.plan)(job.problem)
    check_prefetch(job.plan, split)
    with begun_stream(job, store) as kept:
        return carry_out_stream(job, split, kept, progress)


def carry_out_stream(
    job: StreamJob, split: SplitProblem, kept: StreamKept, progress: StreamProgress | None
) -> StreamResult:
    """Costs, allocates and schedules nodes, in a run that has begun or goes on, and ends it.

    Raises:
        InputError: where the mapping does not suit the network.
        InfeasibleError: where no allocation can be scheduled.
        StoreError: where the store cannot be written.
    """
    plan, run = job.plan, kept.run
    if progress is not None:
        progress.split(split)
    costing = Costing(kept.ledger, None if progress is None else progress.costed)
    problem = costing_stage(plan, costing)(split)
    run.begin(problem)
    bound = _bound(job, problem, run, progress)
    if plan.engine is Engine.CONSTRAINT and bound is not None:
        search = _found_by_constraints(problem, bound)
    else:
        search = _evolved(job, problem, (run, bound), progress)
    schedule = BestAllocationStage(AllocationObjective(plan.objective.value))(search)
    run.finish(schedule)
    return StreamResult(run.id, job.problem.workload.name, plan, search, schedule, bound)


def _bound(
    job: StreamJob, problem: ScheduleProblem, run: KeptStream, progress: StreamProgress | None
) -> StreamBound | None:
    """What the search by constraints finds, or has found before; ``None``: nobody has asked it."""
    plan = job.plan
    if plan.engine is Engine.GENETIC:
        return None
    known = run.bound()
    if known is not None:
        return known
    if progress is not None:
        progress.prove(problem)
    seeds = initial_allocations(problem)
    found = prove(problem, evaluator(problem, job.workers), plan.constraint, seeds)
    bound = StreamBound(
        best=found.best, bound=found.bound, proven=found.proven, evaluations=found.evaluations
    )
    run.record_bound(bound)
    return bound


def _found_by_constraints(problem: ScheduleProblem, bound: StreamBound) -> AllocationSearch:
    best = (bound.best,) if bound.best else ()
    unknown = Individual(allocation=initial_allocations(problem)[0], fitness=None)
    found = Generation(
        number=0, population=best or (unknown,), front=best, evaluations=bound.evaluations
    )
    return AllocationSearch(problem, (AllocationObjective.LATENCY,), found)


def _evolved(
    job: StreamJob,
    problem: ScheduleProblem,
    begun: tuple[KeptStream, StreamBound | None],
    progress: StreamProgress | None,
) -> AllocationSearch:
    """The last generation; those that are recorded are not bred again."""
    run, bound = begun
    keepers: tuple[GenerationKeeper, ...] = (run.record,)
    if progress is not None:
        progress.search(problem, job.plan.genetic.generations)
        keepers = (run.record, progress.observe)
    stage = InterCoreMappingStage(
        options=job.plan.genetic,
        workers=job.workers,
        seeds=(bound.best.allocation,) if bound and bound.best else (),
        start=run.newest(),
        known=run.scheduled(),
        keepers=keepers,
    )
    return stage(problem)


def resume_stream(
    run: UUID,
    store: Store | Path | str,
    *,
    workers: int | None = None,
    progress: StreamProgress | None = None,
) -> StreamResult:
    """Goes on with a run of several cores that was interrupted or has failed, and ends it.

    Costs and generations that are recorded are not searched again; the result is that of a run
    that was not interrupted.

    Raises:
        StoreError: where there is no such run, it is done, or cannot be gone on with.
        InfeasibleError: where no allocation can be scheduled.
    """
    # DuckDB takes long to import
    from nestmap.pipeline.explore.recording import opened  # noqa: PLC0415
    from nestmap.pipeline.multicore.recording import recorded_job, resumed_run  # noqa: PLC0415

    threads = available_workers() if workers is None else workers
    with opened(store) as target:
        job = recorded_job(run, target.stream_info(run), threads)
        split = splitting_stage(job.plan)(job.problem)
        with resumed_run(run, target) as kept:
            return carry_out_stream(job, split, kept, progress)


def recorded_stream(run: UUID, store: Store) -> StreamResult:
    """The result of a finished run of several cores, from what the store knows.

    Raises:
        StoreError: where there is no such run, or it has no schedule.
    """
    from nestmap.pipeline.multicore.recording import Reader, recorded_job  # noqa: PLC0415 (as above)

    job, found = recorded_job(run, store.stream_info(run), 1), store.stream(run)
    if found.reported is None:
        raise StoreError(
            f"run {run}: found no schedule, it is {store.run(run).status}; expected a run that is "
            "done"
        )
    split = splitting_stage(job.plan)(job.problem)
    problem = costing_stage(job.plan, Costing(Reader(store)))(split)
    search = AllocationSearch(problem, job.plan.genetic.objectives, found.generation)
    schedule = scheduler(problem, found.reported)
    name = job.problem.workload.name
    return StreamResult(run, name, job.plan, search, schedule, found.bound)
