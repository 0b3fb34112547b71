"""Recorded explorations: the run in the store, and the reuse of earlier results."""

import json
from collections.abc import Generator, Mapping
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
    MappingProblem,
    Recording,
    SpatialProblem,
    StoreError,
    TemporalMapping,
)
from nestmap.model.base import copy_with
from nestmap.pipeline.explore.keys import evaluation_key, exploration_method, layer_key, search_key
from nestmap.pipeline.explore.plan import SearchPlan, exploration_options
from nestmap.pipeline.explore.run import ExplorationRun, Job, Progress, RunHandle
from nestmap.pipeline.explore.size import KnownTries
from nestmap.pipeline.stages.mapping.recall import Choose, Explore
from nestmap.pipeline.util.provenance import command_line, versions
from nestmap.store import ExploredLayer, LayerInfo, Run, RunInfo, Search, SearchInfo, Store
from nestmap.store.connection.interrupts import entered

Plan = TypeVar("Plan", bound=Frozen)


@final
@dataclass(frozen=True, slots=True)
class RunLedger:
    """The ledger of a run in a store."""

    run: Run
    progress: Progress | None = None

    def recall(self, spatial: SpatialProblem, options: str) -> tuple[EvaluationBatch, ...] | None:
        """The Pareto front of an earlier search, or ``None`` if it was not searched."""
        known = self.run.find_search(_info(spatial, options))
        if known is not None and self.progress is not None:
            for batch in known:
                self.progress.recall(batch)
        return known

    def explored(
        self, problem: MappingProblem, options: str, explore: Explore, choose: Choose
    ) -> EvaluationBatch:
        """The best evaluation of a layer, from the store or explored."""
        info = layer_info(problem, options)
        with self.run.timing(problem.layer.name):
            known = self.run.find_layer(info)
            if known is None:
                return self._explored(info, explore)
            best = choose(known.batches(problem)).with_statistics(known.statistics)
        if self.progress is not None:
            self.progress.recall(best)
        return best

    def _explored(self, info: LayerInfo, explore: Explore) -> EvaluationBatch:
        first = self.run.position
        found = explore(info.problem)
        if not found.statistics.cut:  # with more time, another run finds more
            self.run.record_layer(info, first, found)
        return found

    def searching(self, spatial: SpatialProblem, options: str) -> AbstractContextManager[Search]:
        """Records a search; it is complete if the block ends without an error."""
        return self.run.record_search(_info(spatial, options))

    def cost(self, spatial: SpatialProblem, mapping: TemporalMapping) -> CostModelEvaluation:
        """The evaluation of a mapping, from the store or computed."""
        key = evaluation_key(spatial, mapping)
        known = self.run.find_cme(key)
        name = spatial.layer.name
        cme = evaluate(spatial, mapping) if known is None else copy_with(known, {"layer": name})
        self.run.report_cme(key, cme)
        return cme


def known_tries(store: Store, plan: SearchPlan, recording: Recording) -> KnownTries:
    """The tries of the layers whose results a run in the store would reuse."""
    options = exploration_options(plan)
    explored: dict[str, Mapping[str, ExploredLayer]] = {}

    def known(problem: MappingProblem) -> tuple[int, ...] | None:
        info = layer_info(problem, options)
        if info.method not in explored:
            explored[info.method] = store.explored_layers(info.method, recording)
        found = explored[info.method].get(info.key)
        return None if found is None else found.tries

    return known


def layer_info(problem: MappingProblem, options: str) -> LayerInfo:
    """The exploration of a layer as a store identifies it."""
    method = exploration_method(problem.accelerator, options)
    return LayerInfo(method=method, key=layer_key(problem), problem=problem)


def _info(spatial: SpatialProblem, options: str) -> SearchInfo:
    return SearchInfo(key=search_key(spatial, options), spatial=spatial, options=options)


@contextmanager
def record_run(
    job: Job, store: Store | Path | str, recording: Recording, progress: Progress | None = None
) -> Generator[ExplorationRun]:
    """Starts a run in a store; a store given by its path is opened, and closed at the end.

    A run that exits without ``finish`` is marked as failed or interrupted.

    Raises:
        StoreError: where the store cannot be opened or written.
    """
    info = run_info(job, recording)
    with Store.borrow(store) as target, entered(lambda: target.start_run(info)) as run:
        yield _handle(run, progress)


@contextmanager
def resume_run(
    run: UUID, job: Job, store: Store, progress: Progress | None = None
) -> Generator[ExplorationRun]:
    """Reopens a run to resume it.

    Raises:
        StoreError: where there is no such run, it is done, or cannot be resumed.
    """
    with entered(lambda: store.resume_run(run)) as resumed:
        yield _handle(resumed, progress)


def _handle(run: Run, progress: Progress | None) -> ExplorationRun:
    return RunHandle(run.id, run.record_pipeline, run.finish, RunLedger(run, progress))


def read_plan(kind: type[Plan], run: UUID, options: str) -> Plan:
    """Reads the plan of a recorded run.

    Raises:
        StoreError: where this version of nestmap cannot read it.
    """
    try:
        return kind.model_validate_json(options)
    except ValidationError:
        raise StoreError(
            f"run {run}: found a plan of an incompatible version of nestmap; expected one of this "
            "version: start a new run"
        ) from None


def run_info(job: Job, recording: Recording) -> RunInfo:
    """The information that is recorded when a run starts."""
    plan = job.plan
    return RunInfo(
        command=command_line(),
        version=version("nestmap"),
        versions=json.dumps(versions()),
        objective=plan.objective,
        network=job.network,
        options=plan.model_dump_json(),
        pareto=job.pareto,
        seed=plan.search.known_seed,
        recording=recording,
        label=job.label,
    )
