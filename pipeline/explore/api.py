"""The facade: explore a network, or cost one mapping, in one call."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Literal
from uuid import UUID

from nestmap.costmodel import evaluate as evaluate_mapping
from nestmap.model import (
    Accelerator,
    CostModelEvaluation,
    Frozen,
    InputError,
    Layer,
    LayerConstraints,
    LayerResult,
    MappingConstraints,
    MappingProblem,
    MappingType,
    NetworkEvaluation,
    NetworkFront,
    NetworkProblem,
    Objective,
    Recording,
    SpatialMapping,
    SpatialProblem,
    TemporalMapping,
    Workload,
)
from nestmap.model.display import view
from nestmap.pipeline.explore.plan import (
    Rank,
    SearchPlan,
    exploration_pipeline,
    front_pipeline,
    search_plan,
)
from nestmap.pipeline.explore.run import Job, Kept, Progress, begun
from nestmap.pipeline.frontend.read import read_accelerator, read_mapping, read_workload
from nestmap.pipeline.render.notebook.network import front_html, network_html
from nestmap.pipeline.stages.mapping.constraint_checks import check_constraints, with_suited_mapping
from nestmap.pipeline.stages.mapping.observe import Observer

if TYPE_CHECKING:
    import onnx

    from nestmap.store import Store


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


@view.register
def exploration_html(found: Exploration) -> str:
    """Its layers as a table, for notebooks."""
    return network_html(
        found.total, f"{found.workload} on {found.accelerator}, best {found.objective}"
    )


class FrontExploration(Frozen, frozen=True):
    """The result of an exploration of which energy and latency shall be weighed: fronts."""

    run: UUID
    workload: str
    accelerator: str
    front: NetworkFront


@view.register
def front_exploration_html(found: FrontExploration) -> str:
    """The mappings of its layers as a table, for notebooks."""
    return front_html(
        found.front.layers, f"{found.workload} on {found.accelerator}, energy against latency"
    )


def explore(  # noqa: PLR0913 (the one call that says it all; all but two arguments have defaults)
    workload: Workload | onnx.ModelProto | Path | str,
    accelerator: Accelerator | Path | str,
    mapping: MappingConstraints | Path | str | None = None,
    *,
    dims: Mapping[str, int] | None = None,
    objective: Objective | Literal["latency", "energy", "edp"] = Objective.LATENCY,
    search: Literal["loma", "salsa"] = "loma",
    lpf_limit: int | None = 6,
    mapping_type: MappingType | Literal["uneven", "even"] = MappingType.UNEVEN,
    spatial_mappings: int = 3,
    mixed: bool = False,
    rank: Rank | Literal["utilization", "bound"] = Rank.UTILIZATION,
    keep_on_chip: bool = False,
    prune: bool = False,
    count_vector: bool = False,
    static_energy: bool = False,
    seed: int = 0,
    workers: int | None = None,
    store: Store | Path | str | None = None,
    recording: Recording | None = None,
    progress: Progress | None = None,
) -> Exploration:
    """Finds the best mapping of every layer of a network.

    Args:
        workload: a model, an ONNX or YAML file, or the name of a bundled one (``light:resnet50``).
        accelerator: a model, a YAML file, or the name of a bundled one (``tpu_like``).
        mapping: constraints, a YAML file or the name of a bundled one. Without: the one bundled
            under the accelerator's name, if there is one, for the layers that have all the
            dimensions it unrolls; nothing is fixed for the others.
        dims: sizes of the dimensions that the network leaves open: ``{"batch": 1}``.
        objective: what to make small.
        search: ``loma`` tries all orders of the loop factors, ``salsa`` anneals the orders of all
            prime factors.
        lpf_limit: how many loop factors LOMA cuts a layer into at most (``None``: all primes).
        mapping_type: whether operands that share a memory must cut the loops at the same place.
        spatial_mappings: how many spatial mappings of a layer to try, where ``mapping`` leaves
            array dimensions open.
        mixed: whether several loop dimensions may share an array dimension.
        rank: which spatial mappings to try first: those that use the array best, or those that
            cost least at least.
        keep_on_chip: whether data stays on chip between layers where there is room.
        prune: whether to leave out spatial mappings that cannot beat what was found.
        count_vector: whether totals include vector operators (pooling, activations, ...); their
            costs are in ``total.vector`` in any case.
        static_energy: whether energies include what leaks in memories and array while a layer runs.
        seed: decides what is random in ``salsa``.
        workers: threads (``None``: one for each core); results do not depend on their number.
        store: where every evaluation is kept: a store, or a DuckDB file (made if missing). What it
            knows already is not computed again.
        recording: which evaluations are kept there, and whether to compute everything anew.
        progress: who wants to know how far it is.

    Raises:
        InputError: where something given is not right.
        InfeasibleError: where no mapping of a layer fits.
        StoreError: where the store cannot be written.
    """
    plan = search_plan(
        objective=objective,
        search=search,
        lpf_limit=lpf_limit,
        mapping_type=mapping_type,
        spatial_mappings=spatial_mappings,
        mixed=mixed,
        rank=rank,
        keep_on_chip=keep_on_chip,
        prune=prune,
        count_vector=count_vector,
        seed=seed,
        workers=workers,
    )
    network = read_network(
        workload, accelerator, mapping, dims=dims, store=store, static_energy=static_energy
    )
    return explore_network(network, plan, store=store, recording=recording, progress=progress)


def read_network(
    workload: Workload | onnx.ModelProto | Path | str,
    accelerator: Accelerator | Path | str,
    mapping: MappingConstraints | Path | str | None = None,
    *,
    dims: Mapping[str, int] | None = None,
    store: Store | Path | str | None = None,
    static_energy: bool = False,
) -> NetworkProblem:
    """What :func:`explore` is given, read and checked.

    The store remembers what CACTI says of memories, where the accelerator asks it. With
    ``static_energy`` energies include what leaks.

    Raises:
        InputError: where something given is not right.
        StoreError: where the store is needed and cannot be used.
    """
    chosen = accelerator if mapping is None and isinstance(accelerator, str) else None
    network = NetworkProblem(
        workload=read_workload(workload, dims),
        accelerator=read_accelerator(accelerator, store, static_energy=static_energy),
        constraints=read_mapping(mapping, for_accelerator=chosen),
    )
    if mapping is None:
        network = with_suited_mapping(network)
    named = isinstance(mapping, str | Path)
    check_constraints(network, str(mapping) if named else "mapping")
    return network


def explore_network(
    network: NetworkProblem,
    plan: SearchPlan | None = None,
    *,
    store: Store | Path | str | None = None,
    recording: Recording | None = None,
    progress: Progress | None = None,
) -> Exploration:
    """The best mapping of every layer of a network problem; recorded and observed.

    Raises:
        InputError: where the constraints do not suit a layer.
        InfeasibleError: where no mapping of a layer fits.
        StoreError: where the store cannot be written.
    """
    job = Job(network, plan or SearchPlan())
    with begun(job, store, recording or Recording(), progress) as kept:
        return carry_out(job, kept, progress)


def carry_out(job: Job, kept: Kept, progress: Progress | None) -> Exploration:
    """Explores, in a run that has begun, and ends it.

    Raises:
        InputError: where the constraints do not suit a layer.
        InfeasibleError: where no mapping of a layer fits.
        StoreError: where the store cannot be written.
    """
    pipeline = exploration_pipeline(job.plan, _observers(progress), kept.ledger)
    total = pipeline(job.network)
    kept.run.finish(total)
    return Exploration(
        run=kept.run.id,
        workload=job.network.workload.name,
        accelerator=job.network.accelerator.name,
        objective=job.plan.objective,
        total=total,
    )


def explore_front(
    network: NetworkProblem,
    plan: SearchPlan | None = None,
    *,
    store: Store | Path | str | None = None,
    recording: Recording | None = None,
    progress: Progress | None = None,
) -> FrontExploration:
    """The mappings of every layer between which energy is traded for latency.

    All candidates of the plan count, whatever its objective: the store gets the best for that as
    the results of the run. Recorded and observed like :func:`explore_network`.

    Raises:
        InputError: where the constraints do not suit a layer, or the plan prunes.
        InfeasibleError: where no mapping of a layer fits.
        StoreError: where the store cannot be written.
    """
    job = Job(network, plan or SearchPlan(), pareto=True)
    check_front_plan(job.plan)
    with begun(job, store, recording or Recording(), progress) as kept:
        return carry_out_front(job, kept, progress)


def check_front_plan(plan: SearchPlan) -> None:
    """Checks that a plan can find fronts.

    Raises:
        InputError: where it prunes.
    """
    if plan.prune:
        raise InputError("plan", "prune", "no pruning, which would leave out parts of the front")


def carry_out_front(job: Job, kept: Kept, progress: Progress | None) -> FrontExploration:
    """Explores for fronts, in a run that has begun, and ends it.

    Raises:
        InputError: where the constraints do not suit a layer.
        InfeasibleError: where no mapping of a layer fits.
        StoreError: where the store cannot be written.
    """
    pipeline = front_pipeline(job.plan, _observers(progress), kept.ledger)
    front = pipeline(job.network)
    kept.run.finish(front.best(job.plan.objective))
    return FrontExploration(
        run=kept.run.id,
        workload=job.network.workload.name,
        accelerator=job.network.accelerator.name,
        front=front,
    )


def _observers(progress: Progress | None) -> tuple[Observer, ...]:
    return () if progress is None else (progress,)


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
