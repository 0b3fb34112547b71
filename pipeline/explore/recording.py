"""Explorations that the store keeps: a run around the search, and what it knows already."""

from __future__ import annotations

import json
from collections.abc import Generator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import TypeVar, final
from uuid import UUID

from pydantic import ValidationError

from nestmap.costmodel.evaluate import evaluate
from nestmap.model import (
    CostModelEvaluation,
    EvaluationBatch,
    Frozen,
    Recording,
    SpatialProblem,
    StoreError,
    TemporalMapping,
)
from nestmap.model.base import copy_with
from nestmap.pipeline.describe import describe
from nestmap.pipeline.explore.keys import evaluation_key, search_key, search_options
from nestmap.pipeline.explore.plan import exploration_pipeline, front_pipeline
from nestmap.pipeline.explore.run import ExplorationRun, Job, Progress, RunHandle
from nestmap.pipeline.stages import SalsaStage
from nestmap.pipeline.util.provenance import command_line, versions
from nestmap.store import Run, RunInfo, Search, SearchInfo, Store

Plan = TypeVar("Plan", bound=Frozen)


@final
@dataclass(frozen=True, slots=True)
class RunLedger:
    """What the store of a run knows; ``options`` are those of its searches."""

    run: Run
    options: str
    progress: Progress | None = None

    def recall(self, spatial: SpatialProblem) -> tuple[EvaluationBatch, ...] | None:
        """Of a search done before the evaluations that no other one beats; else ``None``."""
        known = self.run.find_search(self._info(spatial))
        if known is not None and self.progress is not None:
            for batch in known:
                self.progress.recall(batch)
        return known

    def searching(self, spatial: SpatialProblem) -> AbstractContextManager[Search]:
        """A search to be recorded; it is complete where the block ends well."""
        return self.run.record_search(self._info(spatial))

    def cost(self, spatial: SpatialProblem, mapping: TemporalMapping) -> CostModelEvaluation:
        """What a mapping costs: as the store knows it, else computed."""
        key = evaluation_key(spatial, mapping)
        known = self.run.find_cme(key)
        name = spatial.layer.name
        cme = evaluate(spatial, mapping) if known is None else copy_with(known, {"layer": name})
        self.run.report_cme(key, cme)
        return cme

    def _info(self, spatial: SpatialProblem) -> SearchInfo:
        key = search_key(spatial, self.options)
        return SearchInfo(key=key, spatial=spatial, options=self.options)


@contextmanager
def record_run(
    job: Job, store: Store | Path | str, recording: Recording, progress: Progress | None = None
) -> Generator[ExplorationRun]:
    """A new run in a store that is given, or opened (and closed again) at a path.

    Left without ``finish``, it is marked as failed or interrupted.

    Raises:
        StoreError: where the store cannot be opened or written.
    """
    with Store.borrow(store) as target, target.start_run(run_info(job, recording)) as run:
        yield _handle(run, job, progress)


@contextmanager
def resume_run(
    run: UUID, job: Job, store: Store, progress: Progress | None = None
) -> Generator[ExplorationRun]:
    """A run that continues.

    Raises:
        StoreError: where there is no such run, it is done, or cannot be resumed.
    """
    with store.resume_run(run) as resumed:
        yield _handle(resumed, job, progress)


def _handle(run: Run, job: Job, progress: Progress | None) -> ExplorationRun:
    ledger = RunLedger(run, search_options(job.plan.effective_search), progress)
    return RunHandle(run.id, run.finish, ledger)


def read_plan(kind: type[Plan], run: UUID, options: str) -> Plan:
    """The plan of a recorded run.

    Raises:
        StoreError: where this version of nestmap cannot follow it.
    """
    try:
        return kind.model_validate_json(options)
    except ValidationError:
        raise StoreError(
            f"run {run}: found a plan of an incompatible version of nestmap; expected one of this "
            "version: start a new run"
        ) from None


def run_info(job: Job, recording: Recording) -> RunInfo:
    """What is written about a run before it starts."""
    plan = job.plan
    pipeline = front_pipeline(plan) if job.pareto else exploration_pipeline(plan)
    return RunInfo(
        command=command_line(),
        version=version("nestmap"),
        versions=json.dumps(versions()),
        objective=plan.objective,
        network=job.network,
        pipeline=json.dumps([stage.as_json() for stage in describe(pipeline)]),
        options=plan.model_dump_json(),
        pareto=job.pareto,
        seed=plan.search.seed if isinstance(plan.search, SalsaStage) else None,
        recording=recording,
    )
