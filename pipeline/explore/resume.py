"""Recorded runs used again: resumed, or the problem of one of their evaluations."""

from pathlib import Path
from uuid import UUID

from nestmap.model import (
    CostModelEvaluation,
    InputError,
    Layer,
    LayerResult,
    NetworkProblem,
    SpatialProblem,
    TopLevel,
)
from nestmap.model.base import copy_with
from nestmap.pipeline.analysis.mapping.costs import is_evaluation_of
from nestmap.pipeline.explore.api import (
    Exploration,
    FrontExploration,
    run_exploration,
    run_front_exploration,
)
from nestmap.pipeline.explore.plan import SearchPlan
from nestmap.pipeline.explore.recording import read_plan, resume_run
from nestmap.pipeline.explore.run import Job, Progress
from nestmap.pipeline.stages.mapping.layers import RemoveUnusedMemoryStage, layer_problems
from nestmap.search.parallel import available_workers
from nestmap.store import RunInfo, Store


def resume(
    run: UUID,
    store: Store | Path | str,
    *,
    workers: int | None = None,
    progress: Progress | None = None,
) -> Exploration | FrontExploration:
    """Resumes a run that was interrupted or has failed.

    Completed searches (of a layer with one spatial mapping) are not repeated; the result equals
    that of an uninterrupted run. ``workers`` is the number of threads (``None``: one per core).

    Raises:
        StoreError: where there is no such run, it is done, or it cannot be resumed.
        InputError: where the constraints do not suit a layer.
        InfeasibleError: where no layer has a mapping that fits.
    """
    with Store.borrow(store) as target:
        job = _job(run, target.info(run), workers)
        with resume_run(run, job, target, progress) as resumed:
            if progress is not None:
                progress.start(job.network)
            return (run_front_exploration if job.pareto else run_exploration)(
                job, resumed, progress
            )


def _job(run: UUID, info: RunInfo, workers: int | None) -> Job:
    plan = read_plan(SearchPlan, run, info.options)
    threads = available_workers() if workers is None else workers
    return Job(info.network, plan.with_options({"workers": threads}), info.pareto)


# --- the problem of a recorded evaluation, for its explanation ---


def recorded_problem(network: NetworkProblem, cme: CostModelEvaluation) -> SpatialProblem:
    """The problem of an evaluation of one of the network's layers.

    Its accelerator lacks the memories that the layer did not use because its data stayed on chip,
    and has the memory operands that the layer's operands used.

    Raises:
        InputError: where the network has no such layer, or the evaluation has a memory that the
            accelerator lacks.
    """
    layer = _layer(network, cme).padded({x.dimension: x.padded for x in cme.padding})
    (problem,) = layer_problems(network, [layer])
    tops = {entry.operand: entry.memory for entry in cme.levels}  # the last level is the outermost
    links = {link.operand: link.memory_operand for link in cme.links} or problem.links
    if cme.links:
        constraints = copy_with(problem.constraints, {"links": cme.links})
        problem = copy_with(problem, {"constraints": constraints})
    top_levels = tuple(TopLevel(operand=links[x], memory=memory) for x, memory in tops.items())
    used = RemoveUnusedMemoryStage()(copy_with(problem, {"top_levels": top_levels}))
    return SpatialProblem(problem=used, spatial_mapping=cme.spatial_mapping)


def searched_problem(
    store: Store, run: UUID, network: NetworkProblem, result: LayerResult
) -> SpatialProblem:
    """The problem of a result in a store, even if a stage changed the accelerator for its search.

    ``weight_diagonal`` does so; the result is then the problem that was searched, if it was
    recorded. ``network`` is the network of the run.

    Raises:
        InputError: where the network has no such layer, or the evaluation has a memory that the
            accelerator lacks.
        StoreError: if there is no such run.
    """
    cme = result.cme
    spatial = recorded_problem(network, cme)
    if is_evaluation_of(spatial, cme):
        return spatial
    for search in store.costs(run, result.repeats or cme.layer):
        searched = search.problem.for_layer(spatial.layer)
        if searched.spatial_mapping == cme.spatial_mapping and is_evaluation_of(searched, cme):
            return searched
    return spatial


def _layer(network: NetworkProblem, cme: CostModelEvaluation) -> Layer:
    for layer in network.workload.layers:
        if layer.name == cme.layer:
            return layer
    found = f"an evaluation of a layer that {network.workload.name} does not have"
    raise InputError(f"layer {cme.layer}", found, "one of its layers")
