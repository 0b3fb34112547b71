"""Recorded explorations on several cores: new runs, resumed runs, finished runs."""

import json
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import final
from uuid import UUID

from nestmap.model.multicore.cn_costs import RecordedCost
from nestmap.model.multicore.problem import StreamProblem
from nestmap.pipeline.explore.recording import read_plan
from nestmap.pipeline.explore.run import RunHandle
from nestmap.pipeline.multicore.plan import StreamPlan
from nestmap.pipeline.multicore.run import ScheduleRun, StreamJob
from nestmap.pipeline.util.provenance import command_line, versions
from nestmap.store import Store, StreamInfo
from nestmap.store.connection.interrupts import entered


@contextmanager
def record_run(job: StreamJob, store: Store | Path | str) -> Generator[ScheduleRun]:
    """Starts a run in a store; a store given by its path is opened, and closed at the end.

    A run that exits without ``finish`` is marked as failed or interrupted.

    Raises:
        StoreError: where the store cannot be opened or written.
    """
    info = stream_info(job)
    with Store.borrow(store) as target, entered(lambda: target.start_stream(info)) as run:
        yield RunHandle(run.id, run.record_pipeline, run.finish, run)


@contextmanager
def resume_run(run: UUID, store: Store) -> Generator[ScheduleRun]:
    """Reopens a run to resume it.

    Raises:
        StoreError: where there is no such run, it is done, or cannot be resumed.
    """
    with entered(lambda: store.resume_stream(run)) as resumed:
        yield RunHandle(run, resumed.record_pipeline, resumed.finish, resumed)


def stream_info(job: StreamJob) -> StreamInfo:
    """The information that is recorded when a run starts."""
    plan, problem = job.plan, job.problem
    return StreamInfo(
        command=command_line(),
        version=version("nestmap"),
        versions=json.dumps(versions()),
        objective=plan.objective,
        workload=problem.workload,
        accelerator=problem.accelerator,
        mapping=problem.mapping,
        options=plan.model_dump_json(),
        seed=plan.genetic.seed,
        label=job.label,
    )


def read_job(run: UUID, info: StreamInfo, workers: int) -> StreamJob:
    """Reads the job of a recorded run.

    Raises:
        StoreError: where this version of nestmap cannot read its plan.
    """
    plan = read_plan(StreamPlan, run, info.options)
    problem = StreamProblem(
        workload=info.workload, accelerator=info.accelerator, mapping=info.mapping
    )
    return StreamJob(problem, plan, workers)


@final
@dataclass(frozen=True, slots=True)
class RecordedCosts:
    """A read-only ledger of the costs in a store."""

    store: Store

    def find_costs(self, keys: Sequence[str]) -> Mapping[str, RecordedCost]:
        """The recorded costs by key; keys without costs are absent."""
        return self.store.core_costs(keys)

    def record_costs(self, costs: Mapping[str, RecordedCost]) -> None:
        """Nothing is written."""
