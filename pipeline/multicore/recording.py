"""Explorations of several cores that the store keeps, and those that it has kept."""

from __future__ import annotations

import json
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import final
from uuid import UUID

from pydantic import ValidationError

from nestmap.model import StoreError
from nestmap.model.multicore.cn_costs import KnownCost
from nestmap.model.multicore.problem import StreamProblem
from nestmap.pipeline.describe import describe
from nestmap.pipeline.explore.recording import command_line, opened, versions
from nestmap.pipeline.multicore.pipeline import stream_pipeline
from nestmap.pipeline.multicore.plan import StreamPlan
from nestmap.pipeline.multicore.run import StreamJob, StreamKept
from nestmap.store import Store, StreamInfo


@contextmanager
def recorded_run(job: StreamJob, store: Store | Path | str) -> Generator[StreamKept]:
    """A run that begins in a store that is given, or opened (and closed again) at a path.

    Left without ``finish``, it is marked as failed or interrupted; it is never half there.

    Raises:
        StoreError: where the store cannot be opened or written.
    """
    with opened(store) as target, target.start_stream(stream_info(job)) as run:
        yield StreamKept(run, run)


@contextmanager
def resumed_run(run: UUID, store: Store) -> Generator[StreamKept]:
    """A run that goes on.

    Raises:
        StoreError: where there is no such run, it is done, or cannot be gone on with.
    """
    with store.resume_stream(run) as going_on:
        yield StreamKept(going_on, going_on)


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


def recorded_job(run: UUID, info: StreamInfo, workers: int) -> StreamJob:
    """What a run was to do.

    Raises:
        StoreError: where nestmap of today cannot do that.
    """
    try:
        plan = StreamPlan.model_validate_json(info.options)
    except ValidationError:
        raise StoreError(
            f"run {run}: found no plan that nestmap of today can follow; expected a run of this "
            "version: run nestmap stream again"
        ) from None
    problem = StreamProblem(
        workload=info.workload, accelerator=info.accelerator, mapping=info.mapping
    )
    return StreamJob(problem, plan, workers)


@final
@dataclass(frozen=True, slots=True)
class Reader:
    """A ledger of a store that is only read."""

    store: Store

    def recall(self, keys: Sequence[str]) -> Mapping[str, KnownCost]:
        """What is known, of those keys that are."""
        return self.store.core_costs(keys)

    def keep(self, costs: Mapping[str, KnownCost]) -> None:
        """Nothing is written."""
