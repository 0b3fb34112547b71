"""Stages that keep data on chip between layers, and remove the memories that become unused."""

from __future__ import annotations

from nestmap.model import Frozen, MappingProblem, NetworkProblem, TopLevel, without_unused_levels
from nestmap.model.base import copy_with
from nestmap.pipeline.stage_graph import Stage
from nestmap.pipeline.stages.mapping.constraint_checks import check_layers
from nestmap.pipeline.stages.mapping.loma import layer_problems
from nestmap.search.locality import keep_on_chip


class SearchUnusedMemoryStage(Frozen, Stage[NetworkProblem, NetworkProblem], frozen=True):
    """Finds the top level of each operand of each layer with which data stays on chip.

    A tensor with one producer and one consumer stays in the lowest memory with enough capacity;
    tensors of branches go through the top memory. With ``workload_data_always_from_top_mem``,
    the network's input and output go through the top memory, too; otherwise they start and end on
    chip where capacity allows. Place the stage before ``WorkloadStage``.

    Raises:
        InputError: where the constraints do not suit a layer or the accelerator.
    """

    workload_data_always_from_top_mem: bool = False

    def __call__(self, network: NetworkProblem, /) -> NetworkProblem:
        check_layers(network)
        return NetworkProblem(
            workload=network.workload,
            accelerator=network.accelerator,
            constraints=network.constraints,
            top_levels=keep_on_chip(
                network.workload,
                tuple(layer_problems(network, network.workload.layers)),
                data_from_top=self.workload_data_always_from_top_mem,
            ),
        )


class RemoveUnusedMemoryStage(Frozen, Stage[MappingProblem, MappingProblem], frozen=True):
    """Removes the memory levels above ``top_levels`` from the accelerator of a problem.

    Operands that move once keep theirs, and their top levels: no loops are above these. Place the
    stage after ``WorkloadStage``.

    Raises:
        InputError: where a top level is not a memory of its operand.
    """

    def __call__(self, problem: MappingProblem, /) -> MappingProblem:
        return MappingProblem(
            layer=problem.layer,
            accelerator=without_unused_levels(problem.accelerator, problem.top_levels),
            constraints=problem.constraints,
            top_levels=tuple(top for top in problem.top_levels if top.moves_once),
        )


class PinnedTopLevelsStage(Frozen, Stage[MappingProblem, MappingProblem], frozen=True):
    """Removes the memories above the user's outermost pinned levels from a problem.

    With it, a mapping that was found with data kept on chip can be evaluated again. A problem
    without pinned levels passes unchanged.
    """

    def __call__(self, problem: MappingProblem, /) -> MappingProblem:
        pinned = problem.constraints.memory_levels
        if not pinned:
            return problem
        ends = {levels.operand: levels.memories[-1].memory for levels in pinned}
        top_levels = tuple(
            TopLevel(operand=carried, memory=ends[operand])
            for operand, carried in problem.links.items()
            if ends.get(operand) in [level.name for level in problem.levels(operand)]
        )
        return RemoveUnusedMemoryStage()(copy_with(problem, {"top_levels": top_levels}))


SearchInterLayerDataLocalityStage = SearchUnusedMemoryStage
"""The name of the stage in the reference's later versions."""

ExploitInterLayerDataLocalityStage = RemoveUnusedMemoryStage
"""The name of the stage in the reference's later versions."""
