"""Explorations of several cores that a store records: new ones, resumed ones, finished ones."""

from __future__ import annotations

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
from nestmap.pipeline.describe import describe
from nestmap.pipeline.explore.recording import read_plan
from nestmap.pipeline.explore.run import RunHandle
from nestmap.pipeline.multicore.pipeline import stream_pipeline
from nestmap.pipeline.multicore.plan import StreamPlan
from nestmap.pipeline.multicore.run import ScheduleRun, StreamJob
from nestmap.pipeline.util.provenance import command_line, versions
from nestmap.store import Store, StreamInfo


@contextmanager
def record_run(job: StreamJob, store: Store | Path | str) -> Generator[ScheduleRun]:
    """A new run in a store that is given, or opened (and closed again) at a path.

    Left without ``finish``, it is marked as failed or interrupted.

    Raises:
        StoreError: where the store cannot be opened or written.
    """
    with Store.borrow(store) as target, target.start_stream(stream_info(job)) as run:
        yield RunHandle(run.id, run.finish, run)


@contextmanager
def resume_run(run: UUID, store: Store) -> Generator[ScheduleRun]:
    """A run that continues.

    Raises:
        StoreError: where there is no such run, it is done, or cannot be resumed.
    """
    with store.resume_stream(run) as resumed:
        yield RunHandle(run, resumed.finish, resumed)


def stream_info(job: StreamJob) -> StreamInfo:
    """What is written about a run before it starts."""
    plan, problem = job.plan, job.problem
    return StreamInfo(
        command=command_line(),
        version=version("nestmap"),
        versions=json.dumps(versions()),
        objective=plan.objective,
        workload=problem.workload,
        accelerator=problem.accelerator,
        mapping=problem.mapping,
        pipeline=json.dumps([stage.as_json() for stage in describe(stream_pipeline(job))]),
        options=plan.model_dump_json(),
        seed=plan.genetic.seed,
    )


def read_job(run: UUID, info: StreamInfo, workers: int) -> StreamJob:
    """The job of a recorded run.

    Raises:
        StoreError: where this version of nestmap cannot follow its plan.
    """
    plan = read_plan(StreamPlan, run, info.options)
    problem = StreamProblem(
        workload=info.workload, accelerator=info.accelerator, mapping=info.mapping
    )
    return StreamJob(problem, plan, workers)


@final
@dataclass(frozen=True, slots=True)
class RecordedCosts:
    """A ledger of a store that is only read."""

    store: Store

    def find_costs(self, keys: Sequence[str]) -> Mapping[str, RecordedCost]:
        """What is known, of those keys that are."""
        return self.store.core_costs(keys)

    def record_costs(self, costs: Mapping[str, RecordedCost]) -> None:
        """Nothing is written."""
