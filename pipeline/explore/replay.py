"""Evaluation of the mappings in a file, without a search."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from nestmap.model import (
    EvaluationBatch,
    InputError,
    MappingProblem,
    NetworkEvaluation,
    SpatialProblem,
)
from nestmap.model.errors import suggestion
from nestmap.pipeline.explore.api import read_network
from nestmap.pipeline.stage_graph import Stage, each, stage
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
    from nestmap.pipeline.frontend.given import GivenAccelerator, GivenMapping, GivenWorkload


def replay(
    workload: GivenWorkload,
    accelerator: GivenAccelerator,
    mapping: GivenMapping,
    *,
    layer: str | None = None,
) -> NetworkEvaluation:
    """Evaluates the given mapping of every layer of a network, or of one layer.

    For a whole network the result also lists the vector operators; the totals exclude them.

    Args:
        workload: a model, an ONNX or YAML file, or the name of a bundled one.
        accelerator: a model, a YAML file, or the name of a bundled one.
        mapping: a complete temporal ordering for each layer. With memory levels, as in the files
            that :func:`~nestmap.pipeline.render.yaml.mapping.write_mapping` writes, the result is
            exactly that of the original mapping. Without them, LOMA allocates the memories.
        layer: the only layer to evaluate.

    Raises:
        InputError: where an argument is invalid, the mapping of a layer is incomplete, or it fixes
            segments of layers that run together.
        InfeasibleError: where a mapping does not fit the memories.
    """
    network = read_network(workload, accelerator, mapping)
    network.constraints.refuse_segments("a mapping of each layer; explore --fuse runs segments")
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
    """The pipeline from a layer with its mapping to the evaluation of that mapping."""
    return (
        fixed_spatial()
        >> TemporalOrderingConversionStage()
        >> stage(completely_ordered)
        >> LomaStage(lpf_limit=None)
        >> each(CostModelStage())
        >> MinimalLatencyStage()  # of one mapping
    )


def fixed_spatial() -> Stage[MappingProblem, SpatialProblem]:
    """The pipeline that removes unused memories and applies the given spatial mapping."""
    return PinnedTopLevelsStage() >> SpatialMappingConversionStage()


def completely_ordered(spatial: SpatialProblem) -> SpatialProblem:
    """The problem itself, if its temporal ordering is complete.

    Raises:
        InputError: where the ordering leaves loops open.
    """
    if complete_order(spatial) is None:
        constraints, left = spatial.problem.constraints, spatial.temporal_sizes
        raise InputError(
            f"mapping for layer {spatial.layer.name}",
            "a temporal_ordering that leaves loops open"
            if constraints.temporal_ordering or constraints.outer_ordering
            else f"no temporal_ordering (in the entry {constraints.target!r})",
            "loops with sizes that cover the remaining iterations: "
            + ", ".join(f"{dimension} {size}" for dimension, size in left.items() if size > 1),
        )
    return spatial
