"""The facade: explore a network, or cost one mapping, in one call."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol
from uuid import UUID, uuid4

from nestmap.costmodel import evaluate as evaluate_mapping
from nestmap.model import (
    Accelerator,
    CostModelEvaluation,
    EvaluationBatch,
    Frozen,
    Layer,
    LayerConstraints,
    LayerResult,
    MappingConstraints,
    MappingProblem,
    MappingType,
    NetworkEvaluation,
    NetworkProblem,
    Objective,
    SpatialMapping,
    SpatialProblem,
    TemporalMapping,
    Workload,
)
from nestmap.pipeline.checks import check_constraints
from nestmap.pipeline.describe import describe
from nestmap.pipeline.inputs import read_accelerator, read_mapping, read_workload
from nestmap.pipeline.stage import MainStage, Stage, each
from nestmap.pipeline.stages import (
    CostModelStage,
    LomaStage,
    SpatialMappingConversionStage,
    SumStage,
    WorkloadStage,
    minimal,
)
from nestmap.pipeline.stages.observe import Observer, ObserveStage

if TYPE_CHECKING:
    import onnx

    from nestmap.store import Store


class Progress(Protocol):
    """Who wants to know how far an exploration is."""

    def start(self, network: NetworkProblem) -> None:
        """The exploration begins."""

    def observe(self, batch: EvaluationBatch) -> None:
        """One batch has been evaluated."""


class Exploration(Frozen, frozen=True):
    """The result of an exploration: the best mapping of every layer, and their sum."""

    run: UUID
    workload: str
    accelerator: str
    objective: Objective
    total: NetworkEvaluation

    @property
    def layers(self) -> tuple[LayerResult, ...]:
        """The result of each layer."""
        return self.total.layers

    @property
    def energy(self) -> float:
        """Energy of the whole network in pJ."""
        return self.total.energy

    @property
    def latency(self) -> float:
        """Latency of the whole network in cycles."""
        return self.total.latency


def exploration_pipeline(
    objective: Objective, search: LomaStage, observers: tuple[Observer, ...] = ()
) -> Stage[NetworkProblem, NetworkEvaluation]:
    """The main job as a pipeline: all orders of every layer, the best of each, their sum."""
    layer = (
        SpatialMappingConversionStage()
        >> search
        >> each(CostModelStage())
        >> ObserveStage(observers)
        >> minimal(objective)
    )
    return WorkloadStage() >> each(layer) >> SumStage()


def explore(  # noqa: PLR0913 (the one call that says it all; all but two arguments have defaults)
    workload: Workload | onnx.ModelProto | Path | str,
    accelerator: Accelerator | Path | str,
    mapping: MappingConstraints | Path | str | None = None,
    *,
    objective: Objective | Literal["latency", "energy", "edp"] = Objective.LATENCY,
    lpf_limit: int | None = 6,
    mapping_type: MappingType | Literal["uneven", "even"] = MappingType.UNEVEN,
    store: Store | Path | str | None = None,
    progress: Progress | None = None,
) -> Exploration:
    """Finds the best mapping of every layer of a network.

    Args:
        workload: a model, an ONNX or YAML file, or the name of a bundled one (``light:resnet50``).
        accelerator: a model, a YAML file, or the name of a bundled one (``tpu_like``).
        mapping: constraints, a YAML file or the name of a bundled one. Without: the one bundled
            under the accelerator's name, else the array is filled as well as one loop dimension
            per array dimension can.
        objective: what to make small.
        lpf_limit: how many loop factors a layer is cut into at most (``None``: all primes).
        mapping_type: whether operands that share a memory must cut the loops at the same place.
        store: where every evaluation is kept: a store, or a DuckDB file (made if missing).
        progress: who wants to know how far it is.

    Raises:
        InputError: where something given is not right.
        InfeasibleError: where no mapping of a layer fits.
        StoreError: where the store cannot be written.
    """
    chosen = accelerator if mapping is None and isinstance(accelerator, str) else None
    network = NetworkProblem(
        workload=read_workload(workload),
        accelerator=read_accelerator(accelerator),
        constraints=read_mapping(mapping, for_accelerator=chosen),
    )
    check_constraints(network, "mapping" if mapping is None else str(mapping)[:80])
    return explore_network(
        network,
        Objective(objective),
        LomaStage(lpf_limit=lpf_limit, mapping_type=MappingType(mapping_type)),
        store=store,
        progress=progress,
    )


def explore_network(
    network: NetworkProblem,
    objective: Objective,
    search: LomaStage,
    *,
    store: Store | Path | str | None = None,
    progress: Progress | None = None,
) -> Exploration:
    """Runs the main job on a network problem, recorded and observed.

    Raises:
        InputError: where the constraints do not suit a layer.
        InfeasibleError: where no mapping of a layer fits.
        StoreError: where the store cannot be written.
    """
    if progress is not None:
        progress.start(network)
    watching: tuple[Observer, ...] = () if progress is None else (progress,)
    pipeline = exploration_pipeline(objective, search, watching)
    if store is None:
        return _exploration(uuid4(), network, objective, MainStage(pipeline).run(network))
    # the store is opened only when asked for: DuckDB takes long to import
    from nestmap.pipeline.recording import Recorder, recording  # noqa: PLC0415

    with recording(store, network, objective, describe(pipeline)) as run:
        recorded = exploration_pipeline(objective, search, (*watching, Recorder(run)))
        total = MainStage(recorded).run(network)
        run.finish(total)
    return _exploration(run.id, network, objective, total)


def _exploration(
    run: UUID, network: NetworkProblem, objective: Objective, total: NetworkEvaluation
) -> Exploration:
    return Exploration(
        run=run,
        workload=network.workload.name,
        accelerator=network.accelerator.name,
        objective=objective,
        total=total,
    )


def evaluate(
    layer: Layer,
    accelerator: Accelerator | Path | str,
    spatial_mapping: SpatialMapping,
    temporal_mapping: TemporalMapping,
    constraints: LayerConstraints | None = None,
) -> CostModelEvaluation:
    """The cost of one mapping of one layer.

    Raises:
        pydantic.ValidationError: where the parts do not go together.
    """
    problem = MappingProblem(
        layer=layer,
        accelerator=read_accelerator(accelerator),
        constraints=constraints or LayerConstraints(),
    )
    spatial = SpatialProblem(problem=problem, spatial_mapping=spatial_mapping)
    return evaluate_mapping(spatial, temporal_mapping)
