"""The problem of a recorded evaluation, for its explanation."""

from __future__ import annotations

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
from nestmap.pipeline.analysis.mapping.checks import is_evaluation_of
from nestmap.pipeline.stages.mapping.layers import RemoveUnusedMemoryStage, layer_problems
from nestmap.store import Store


def recorded_problem(network: NetworkProblem, cme: CostModelEvaluation) -> SpatialProblem:
    """The problem of an evaluation of one of the network's layers.

    Its accelerator lacks the memories that the layer did not use because its data stayed on chip,
    and has the memory operands that the layer's operands used. What moved once does so again.

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
    moving = tuple(top for top in problem.top_levels if top.moves_once)
    top_levels = tuple(TopLevel(operand=links[x], memory=memory) for x, memory in tops.items())
    used = RemoveUnusedMemoryStage()(copy_with(problem, {"top_levels": top_levels}))
    whole = copy_with(used, {"top_levels": moving})
    return SpatialProblem(problem=whole, spatial_mapping=cme.spatial_mapping)


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
