"""Evaluation of given mappings, without a search, and its record as a run."""

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


import json
from importlib.metadata import version
from pathlib import Path
from uuid import UUID

from nestmap.model import (
    NetworkProblem,
    Objective,
    Recording,
    RecordMode,
    RunLabel,
    Workload,
)
from nestmap.model.base import copy_with
from nestmap.model.evaluation.recording import UNLABELED
from nestmap.pipeline.describe import stages_json
from nestmap.pipeline.util.provenance import command_line, versions
from nestmap.store import RunInfo, Store
from nestmap.store.connection.interrupts import entered


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
        InputError: where an argument is invalid, or the mapping of a layer is incomplete.
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


# --- records the evaluation of given mappings as a run ---


def record_evaluation(
    network: NetworkProblem,
    evaluation: NetworkEvaluation,
    store: Store | Path | str,
    label: RunLabel = UNLABELED,
) -> UUID:
    """Records the results of given mappings as a finished run without searches.

    The run is explained, plotted and compared like others. Its objective is latency, which nothing
    depends on. If the results are of one layer, the recorded network has only that layer.

    Raises:
        StoreError: where the store cannot be opened or written.
    """
    info = RunInfo(
        command=command_line(),
        version=version("nestmap"),
        versions=json.dumps(versions()),
        objective=Objective.LATENCY,
        network=_of_layers(network, {result.cme.layer for result in evaluation.layers}),
        pipeline=stages_json(replay_pipeline()),
        recording=Recording(record=RecordMode.NONE),
        label=label,
    )
    with Store.borrow(store) as target, entered(lambda: target.start_run(info)) as run:
        run.finish(evaluation)
    return run.id


def _of_layers(network: NetworkProblem, names: set[str]) -> NetworkProblem:
    """The network, or the only layer that is evaluated without the others that it reads from."""
    layers = network.workload.layers
    if len(names) > 1 or len(layers) == 1:
        return network
    kept = (copy_with(x.anonymous, {"name": x.name}) for x in layers if x.name in names)
    workload = Workload.of(*kept, name=network.workload.name)
    return copy_with(network, {"workload": workload})
