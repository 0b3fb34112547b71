"""Replay: what the mappings of a file cost, without any search."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from nestmap.model import (
    Accelerator,
    EvaluationBatch,
    InputError,
    MappingConstraints,
    MappingProblem,
    NetworkEvaluation,
    SpatialProblem,
    Workload,
)
from nestmap.model.errors import suggestion
from nestmap.pipeline.explore.api import read_network
from nestmap.pipeline.stage import Stage, each, stage
from nestmap.pipeline.stages import (
    CostModelStage,
    LomaStage,
    MinimalLatencyStage,
    PinnedTopLevelsStage,
    SpatialMappingConversionStage,
    SumStage,
    VectorStage,
    WorkloadStage,
)
from nestmap.pipeline.stages.mapping.ordering import TemporalOrderingConversionStage
from nestmap.search.temporal.ordering import complete_order

if TYPE_CHECKING:
    import onnx


def replay(
    workload: Workload | onnx.ModelProto | Path | str,
    accelerator: Accelerator | Path | str,
    mapping: MappingConstraints | Path | str,
    *,
    layer: str | None = None,
) -> NetworkEvaluation:
    """The cost of the mapping that is given for every layer of a network, or for one layer.

    The vector operators of a whole network stand beside its totals, which do not include them.

    Args:
        workload: a model, an ONNX or YAML file, or the name of a bundled one.
        accelerator: a model, a YAML file, or the name of a bundled one.
        mapping: for each layer a complete temporal ordering; with memory levels, as in the files
            that :func:`~nestmap.pipeline.render.yaml.mapping.write_mapping` writes, the cost is
            exactly that of the mapping that was written. Without, LOMA places the loops.
        layer: the only layer to evaluate.

    Raises:
        InputError: where something given is not right, or leaves a layer's mapping open.
        InfeasibleError: where a mapping does not fit the memories.
    """
    network = read_network(workload, accelerator, mapping)
    summed = each(replay_pipeline()) >> SumStage()
    if layer is None:
        return VectorStage(WorkloadStage() >> summed)(network)
    return summed([only_layer(WorkloadStage()(network), layer)])


def only_layer(problems: Iterable[MappingProblem], name: str) -> MappingProblem:
    """The problem of the layer with that name.

    Raises:
        InputError: where there is none.
    """
    by_name = {problem.layer.name: problem for problem in problems}
    if name not in by_name:
        raise InputError("--layer", repr(name), suggestion(name, by_name))
    return by_name[name]


def replay_pipeline() -> Stage[MappingProblem, EvaluationBatch]:
    """From a layer with its mapping to what that costs."""
    return (
        fixed_spatial()
        >> TemporalOrderingConversionStage()
        >> stage(completely_ordered)
        >> LomaStage(lpf_limit=None)
        >> each(CostModelStage())
        >> MinimalLatencyStage()  # of one mapping
    )


def fixed_spatial() -> Stage[MappingProblem, SpatialProblem]:
    """From a layer with its mapping to the memories that it uses, with its spatial mapping."""
    return PinnedTopLevelsStage() >> SpatialMappingConversionStage()


def completely_ordered(spatial: SpatialProblem) -> SpatialProblem:
    """The problem itself, if its ordering leaves nothing to search.

    Raises:
        InputError: where it does.
    """
    if complete_order(spatial) is None:
        constraints, left = spatial.problem.constraints, spatial.temporal_sizes
        raise InputError(
            f"mapping for layer {spatial.layer.name}",
            "a temporal_ordering that leaves loops open"
            if constraints.temporal_ordering or constraints.outer_ordering
            else f"no temporal_ordering (in the entry {constraints.target!r})",
            "loops with sizes that run through all that is left in time: "
            + ", ".join(f"{dimension} {size}" for dimension, size in left.items() if size > 1),
        )
    return spatial
