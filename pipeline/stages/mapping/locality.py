"""The stages that keep data on chip between layers: look where it can stay, drop what is above."""

from __future__ import annotations

from nestmap.model import Frozen, MappingProblem, NetworkProblem, TopLevel, without_unused_levels
from nestmap.model.base import copy_with
from nestmap.pipeline.stage_graph import Stage
from nestmap.pipeline.stages.mapping.constraint_checks import check_layers
from nestmap.pipeline.stages.mapping.loma import layer_problems
from nestmap.search.locality import keep_on_chip


class SearchUnusedMemoryStage(Frozen, Stage[NetworkProblem, NetworkProblem], frozen=True):
    """The lowest memory that each operand of each layer needs, so that data stays on chip.

    A tensor that one layer writes and one layer reads stays in the lowest memory that has room;
    branches go through the top memory. With ``workload_data_always_from_top_mem`` the network's
    input and output travel through the top memory too; otherwise they start and end on chip
    where there is room. Stands before ``WorkloadStage``.

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
    """The problem on the accelerator without the memory levels that ``top_levels`` leaves unused.

    Stands behind ``WorkloadStage``.

    Raises:
        InputError: where a top level is not a memory of its operand.
    """

    def __call__(self, problem: MappingProblem, /) -> MappingProblem:
        return MappingProblem(
            layer=problem.layer,
            accelerator=without_unused_levels(problem.accelerator, problem.top_levels),
            constraints=problem.constraints,
        )


class PinnedTopLevelsStage(Frozen, Stage[MappingProblem, MappingProblem], frozen=True):
    """The problem without the memories above those that the user's pinned levels end with.

    So a mapping that was found with data kept on chip can be asked for again. Without pinned
    levels the problem stays as it is.
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
