"""Reads a run on several cores for pages: its schedule and the search for its allocation."""

from dataclasses import dataclass
from functools import cached_property
from typing import final
from uuid import UUID

from nestmap.model import InfeasibleError, InputError
from nestmap.model.multicore.allocation import Fitness, Generation, StreamBound
from nestmap.model.multicore.schedule import AllocationSearch, Schedule
from nestmap.model.multicore.top_memories import TopMemories
from nestmap.pipeline.format.runs import titled
from nestmap.pipeline.multicore.pipeline import rebuild_problem
from nestmap.pipeline.multicore.recording import RecordedCosts, read_job
from nestmap.pipeline.pages.report.run import run_anchor
from nestmap.pipeline.stages.multicore.inter_core import schedule_allocation
from nestmap.store import RunRecord, RunStatus, Store, StreamInfo


@final
@dataclass(frozen=True, slots=True)
class RecordedRun:
    """The stored record of a run on several cores, and its inputs."""

    record: RunRecord
    info: StreamInfo


@final
@dataclass(frozen=True, eq=False)
class ReportedStream:
    """A schedule to report; ``anchor`` prefixes the ids of its elements in a page.

    ``generations`` are those of the search for its allocation, ``bound`` is the constraint solver's
    bound for all allocations, ``run`` is the store's record; each is optional.
    """

    anchor: str
    schedule: Schedule
    generations: tuple[Generation, ...] = ()
    bound: StreamBound | None = None
    run: RecordedRun | None = None

    @property
    def complete(self) -> bool:
        """Whether this is the result of a completed run, or of none."""
        return self.run is None or self.run.record.status is RunStatus.DONE

    @property
    def title(self) -> str:
        """The network and the accelerator, and what the user calls the run."""
        problem = self.schedule.problem
        subject = f"{problem.nodes.name} on {problem.accelerator.name}"
        return subject if self.run is None else titled(subject, self.run.record.label)

    @property
    def splitting(self) -> str:
        """The split of the network, in short."""
        nodes = self.schedule.problem.nodes
        split = any(layer.tiling.count > 1 for layer in nodes.layers)
        return f"{len(nodes):,} nodes" if split else "layer by layer"

    @cached_property
    def fitness(self) -> Fitness:
        """The cost of the schedule."""
        homes = TopMemories(accelerator=self.schedule.problem.accelerator)
        peaks = enumerate(self.schedule.peaks)
        return Fitness(
            latency=self.schedule.latency,
            energy=self.schedule.energy.total,
            memory=sum(peak for place, peak in peaks if place not in homes.offchip),
        )


def read_stream(store: Store, run: UUID) -> ReportedStream:
    """Reads a run; for an incomplete one, the best allocation recorded so far.

    Raises:
        StoreError: if there is no such run, or it is a run on one core.
        InputError: if no feasible allocation was recorded for it.
    """
    record, info = store.run(run), store.stream_info(run)
    job, found = read_job(run, info, 1), store.stream(run)
    problem = rebuild_problem(job, RecordedCosts(store))
    search = AllocationSearch(problem, job.plan.genetic.objectives, found.generation)
    allocation = found.reported
    if allocation is None:
        try:
            allocation = search.best(job.plan.objective).allocation
        except InfeasibleError:
            told = f"no schedule: it is {record.status}, and has recorded no allocation"
            raise InputError(f"run {run}", told, "a run that is done") from None
    return ReportedStream(
        anchor=run_anchor(run),
        schedule=schedule_allocation(problem, allocation),
        generations=store.generations(run) or (found.generation,),
        bound=found.bound,
        run=RecordedRun(record, info),
    )
