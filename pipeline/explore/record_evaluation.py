"""Records the evaluation of given mappings as a run."""

import json
from importlib.metadata import version
from pathlib import Path
from uuid import UUID

from nestmap.model import (
    NetworkEvaluation,
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
from nestmap.pipeline.explore.replay import replay_pipeline
from nestmap.pipeline.util.provenance import command_line, versions
from nestmap.store import RunInfo, Store
from nestmap.store.connection.interrupts import entered


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
