"""Explorations that the store keeps: a run around the search, and what it knows already."""

from __future__ import annotations

import json
import platform
import shlex
import sys
from collections.abc import Generator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import final

from nestmap.costmodel.evaluate import evaluate
from nestmap.costmodel.version import VERSION as COST_MODEL_VERSION
from nestmap.model import (
    CostModelEvaluation,
    EvaluationBatch,
    Recording,
    SpatialProblem,
    TemporalMapping,
)
from nestmap.model.base import replaced
from nestmap.pipeline.describe import describe
from nestmap.pipeline.explore.keys import evaluation_key, search_key, search_options
from nestmap.pipeline.explore.plan import SearchPlan, exploration_pipeline, front_pipeline
from nestmap.pipeline.explore.run import Job, Kept, Progress
from nestmap.pipeline.stages import SalsaStage
from nestmap.search.version import VERSION as SEARCH_VERSION
from nestmap.store import Run, RunInfo, Search, SearchInfo, Store


@final
@dataclass(frozen=True, slots=True)
class RunLedger:
    """What the store of a run knows; ``options`` are those of its searches."""

    run: Run
    options: str
    progress: Progress | None = None

    def recall(self, spatial: SpatialProblem) -> tuple[EvaluationBatch, ...] | None:
        """Of a search done before the evaluations that no other one beats; else ``None``."""
        known = self.run.recall(self._info(spatial))
        if known is not None and self.progress is not None:
            for batch in known:
                self.progress.recall(batch)
        return known

    def searching(self, spatial: SpatialProblem) -> AbstractContextManager[Search]:
        """A search to be recorded; it is complete where the block ends well."""
        return self.run.searching(self._info(spatial))

    def cost(self, spatial: SpatialProblem, mapping: TemporalMapping) -> CostModelEvaluation:
        """What a mapping costs: as the store knows it, else computed."""
        key = evaluation_key(spatial, mapping)
        known = self.run.recall_cme(key)
        name = spatial.layer.name
        cme = evaluate(spatial, mapping) if known is None else replaced(known, {"layer": name})
        self.run.keep_cme(key, cme)
        return cme

    def _info(self, spatial: SpatialProblem) -> SearchInfo:
        key = search_key(spatial, self.options)
        return SearchInfo(key=key, spatial=spatial, options=self.options)


@contextmanager
def recorded(
    job: Job, store: Store | Path | str, recording: Recording, progress: Progress | None = None
) -> Generator[Kept]:
    """A run that begins in a store that is given, or opened (and closed again) at a path.

    Left without ``finish``, it is marked as failed or interrupted; it is never half there.

    Raises:
        StoreError: where the store cannot be opened or written.
    """
    with opened(store) as target, target.start_run(run_info(job, recording)) as run:
        yield kept(run, job.plan, progress)


def kept(run: Run, plan: SearchPlan, progress: Progress | None) -> Kept:
    """A run with its ledger."""
    return Kept(run, RunLedger(run, search_options(plan.effective_search), progress))


@contextmanager
def opened(store: Store | Path | str) -> Generator[Store]:
    """A store that is given, or opened (and closed again) at a path.

    Raises:
        StoreError: where it cannot be opened.
    """
    with nullcontext(store) if isinstance(store, Store) else Store.open(Path(store)) as target:
        yield target


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


def command_line() -> str:
    """What was called: the program with its arguments."""
    return shlex.join([Path(sys.argv[0]).name, *sys.argv[1:]]) if sys.argv else "python"


def versions() -> dict[str, str | int]:
    """Versions of all that decides a figure."""
    return {
        "cost_model": COST_MODEL_VERSION,
        "search": SEARCH_VERSION,
        "python": platform.python_version(),
        **{name: version(name) for name in ("numpy", "numba", "duckdb")},
    }
