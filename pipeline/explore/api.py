"""The facade: explores a network, or evaluates one mapping, in one call."""

from __future__ import annotations

import warnings
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import NoneType
from typing import TYPE_CHECKING, Unpack
from uuid import UUID

from nestmap.costmodel.evaluate import evaluate as evaluate_mapping
from nestmap.model import (
    CostModelEvaluation,
    Counting,
    Frozen,
    InfeasibleLayer,
    InputError,
    Layer,
    LayerConstraints,
    LayerResult,
    MappingProblem,
    NetworkEvaluation,
    NetworkFront,
    NetworkProblem,
    Objective,
    ObjectiveBound,
    Recording,
    RunLabel,
    SpatialMapping,
    SpatialProblem,
    TemporalMapping,
    narrow_sums,
)
from nestmap.model.display import costs_text, view
from nestmap.model.errors import InfeasibleWarning, check_kind
from nestmap.model.evaluation.recording import UNLABELED
from nestmap.pipeline.explore.options import SearchOptions
from nestmap.pipeline.explore.plan import SearchPlan, exploration_pipeline, front_pipeline
from nestmap.pipeline.explore.run import ExplorationRun, Job, Progress
from nestmap.pipeline.frontend.read.accelerator import read_accelerator
from nestmap.pipeline.frontend.read.mapping import read_mapping
from nestmap.pipeline.frontend.read.workload import read_workload
from nestmap.pipeline.render.notebook.network import front_html, network_html
from nestmap.pipeline.stages.mapping.layers import check_constraints, with_suited_mapping
from nestmap.pipeline.stages.mapping.recall import Ports
from nestmap.pipeline.util.option import explain_options

if TYPE_CHECKING:
    from nestmap.pipeline.frontend.given import GivenAccelerator, GivenMapping, GivenWorkload
    from nestmap.store import Store


class Exploration(Frozen, frozen=True):
    """The result of an exploration: the best mapping of every layer, and their sum."""

    run: UUID
    workload: str
    accelerator: str
    objective: Objective
    total: NetworkEvaluation

    def __repr__(self) -> str:
        name = f"{type(self).__name__}: {self.workload} on {self.accelerator}"
        costs = costs_text(self.latency, self.energy)
        return f"<{name}, best {self.objective}: {costs}, {_layers(self.layers, self.infeasible)}>"

    __str__ = __repr__

    @property
    def layers(self) -> tuple[LayerResult, ...]:
        """The result of each layer."""
        return self.total.layers

    @property
    def infeasible(self) -> tuple[InfeasibleLayer, ...]:
        """The layers without a mapping, with the reasons; energy and latency are without them."""
        return self.total.infeasible

    @property
    def energy(self) -> float:
        """Energy in pJ of all layers that have a mapping."""
        return self.total.energy

    @property
    def latency(self) -> float:
        """Latency in cycles of all layers that have a mapping, one after the other."""
        return self.total.latency

    @property
    def bound(self) -> ObjectiveBound | None:
        """A lower bound of the objective over the space searched; ``None`` if it is not known."""
        return self.total.bound

    @property
    def gap(self) -> float | None:
        """The share by which the optimum may be below the total: 0 if it is proven optimal."""
        return self.total.gap


@view.register
def exploration_html(found: Exploration) -> str:
    """The layers as a table, for notebooks."""
    return network_html(
        found.total, f"{found.workload} on {found.accelerator}, best {found.objective}"
    )


class FrontExploration(Frozen, frozen=True):
    """The result of an exploration for Pareto fronts in energy and latency."""

    run: UUID
    workload: str
    accelerator: str
    front: NetworkFront

    def __repr__(self) -> str:
        name = f"{type(self).__name__}: {self.workload} on {self.accelerator}"
        mappings = sum(len(layer.cmes) for layer in self.front.layers)
        return f"<{name}, {mappings} mappings of {_layers(self.front.layers, self.infeasible)}>"

    __str__ = __repr__

    @property
    def infeasible(self) -> tuple[InfeasibleLayer, ...]:
        """The layers without a mapping, with the reasons."""
        return self.front.infeasible


@view.register
def front_exploration_html(found: FrontExploration) -> str:
    """The mappings of the layers as a table, for notebooks."""
    return front_html(
        found.front.layers, f"{found.workload} on {found.accelerator}, energy against latency"
    )


@explain_options(SearchOptions.__annotations__)
def explore(  # noqa: PLR0913 (keywords of the single entry point)
    workload: GivenWorkload,
    accelerator: GivenAccelerator,
    mapping: GivenMapping | None = None,
    *,
    dims: Mapping[str, int] | None = None,
    plan: SearchPlan | None = None,
    static_energy: bool = False,
    store: Store | Path | str | None = None,
    label: RunLabel | str | None = None,
    recording: Recording | None = None,
    progress: Progress | None = None,
    **options: Unpack[SearchOptions],
) -> Exploration:
    """Finds the best mapping of every layer of a network.

    Args:
        workload: a network or a layer, an ONNX or YAML file, the name of a bundled one
            (``light:resnet50``), or the layers of a YAML file as dictionaries.
        accelerator: a model, a YAML file, the name of a bundled one (``tpu_like``), or the fields
            of a YAML file as a dictionary.
        mapping: constraints, a YAML file or the name of a bundled one. The default is the mapping
            bundled under the accelerator's name, if there is one, for the layers that have all the
            dimensions it unrolls; the other layers are unconstrained.
        dims: sizes of the dimensions that the network leaves open: ``{"batch": 1}``.
        plan: how to search.
        static_energy: whether energies include the leakage of memories and array.
        store: where every evaluation is recorded: a store, or a DuckDB file (created if missing).
            Results that it holds already are not computed again.
        label: what the store calls the run: a name, which other runs may have too, or a
            :class:`~nestmap.model.RunLabel` with tags.
        recording: which evaluations are recorded, and whether to compute everything again.
        progress: receives progress updates.
        options: override the plan, for example ``objective="energy"``; see
            :class:`~nestmap.pipeline.explore.options.SearchOptions`.

    Layers that no mapping fits are left out, with an
    :class:`~nestmap.model.errors.InfeasibleWarning`.

    Raises:
        InputError: where an argument is invalid.
        InfeasibleError: where no layer has a mapping that fits.
        StoreError: where the store cannot be written.
    """
    chosen = SearchPlan.of(options) if plan is None else plan.with_options(options)
    network = read_network(
        workload, accelerator, mapping, dims=dims, store=store, static_energy=static_energy
    )
    found = explore_network(
        network,
        chosen,
        store=store,
        label=label_of_run(label, store),
        recording=recording,
        progress=progress,
    )
    _warn_of_missing_layers(found)
    return found


def _warn_of_missing_layers(found: Exploration) -> None:
    """Warns that energy and latency are without the layers that no mapping fits."""
    if found.infeasible:
        count, reason = len(found.infeasible), found.infeasible[0].message
        text = f"{found.workload} without {count} of its layers: {reason}"
        warnings.warn(InfeasibleWarning(text), stacklevel=3)


def label_of_run(given: RunLabel | str | None, store: Store | Path | str | None) -> RunLabel:
    """The label of a run that a store records.

    Raises:
        InputError: if the label is not valid, or there is no store.
    """
    check_kind("label", given, (RunLabel, str, NoneType), "a name or a RunLabel")
    named = given if isinstance(given, RunLabel) else RunLabel(name=given)
    label = RunLabel.of(named.name, named.tags)
    if store is None and label != UNLABELED:
        hint = "only recorded runs have names and tags: give a store"
        raise InputError.conflict("label", "no store", hint)
    return label


def explore_networks(  # noqa: PLR0913 (keywords, as in explore)
    workloads: Iterable[GivenWorkload],
    accelerator: GivenAccelerator,
    mapping: GivenMapping | None = None,
    *,
    plan: SearchPlan | None = None,
    store: Store | Path | str | None = None,
    label: RunLabel | str | None = None,
    recording: Recording | None = None,
) -> tuple[Exploration, ...]:
    """Explores several networks on one accelerator, one after the other; see :func:`explore`.

    All inputs are read and checked before anything is explored. All runs get the label. A layer
    that an earlier network has as well is not searched again, if there is a store.

    Raises:
        InputError: where an argument is invalid.
        InfeasibleError: where no layer has a mapping that fits.
        StoreError: where the store cannot be written.
    """
    networks = [read_network(x, accelerator, mapping, store=store) for x in workloads]
    chosen = label_of_run(label, store)
    found = tuple(
        explore_network(x, plan, store=store, label=chosen, recording=recording) for x in networks
    )
    for each in found:
        _warn_of_missing_layers(each)
    return found


def read_network(
    workload: GivenWorkload,
    accelerator: GivenAccelerator,
    mapping: GivenMapping | None = None,
    *,
    dims: Mapping[str, int] | None = None,
    store: Store | Path | str | None = None,
    static_energy: bool = False,
) -> NetworkProblem:
    """Reads and checks the inputs of :func:`explore`.

    The store caches the results of CACTI, if the accelerator uses it. With ``static_energy``,
    energies include leakage. Sums that an ONNX model only assumes are as narrow as the machine's.

    Raises:
        InputError: where an argument is invalid.
        StoreError: where the store is needed and cannot be used.
    """
    chosen = accelerator if mapping is None and isinstance(accelerator, str) else None
    machine = read_accelerator(accelerator, store, static_energy=static_energy)
    network = NetworkProblem(
        workload=narrow_sums(read_workload(workload, dims), machine.room_for_sums),
        accelerator=machine,
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
    label: RunLabel | None = None,
    recording: Recording | None = None,
    progress: Progress | None = None,
) -> Exploration:
    """Finds the best mapping of every layer of a network problem.

    ``label`` is what the store calls the run.

    Raises:
        InputError: where the constraints do not suit a layer.
        InfeasibleError: where no layer has a mapping that fits.
        StoreError: where the store cannot be written.
    """
    chosen = plan or SearchPlan()
    job = Job(chosen.prepare(network), chosen, label=label or UNLABELED)
    with _open_run(job, store, recording, progress) as run:
        return run_exploration(job, run, progress)


@contextmanager
def _open_run(
    job: Job,
    store: Store | Path | str | None,
    recording: Recording | None,
    progress: Progress | None,
) -> Generator[ExplorationRun]:
    """A new run, recorded where a store is given."""
    if progress is not None:
        progress.start(job.network)
    if store is None:
        yield ExplorationRun.unrecorded()
        return
    # imported only when a store is used: DuckDB takes long to import
    from nestmap.pipeline.explore.recording import record_run  # noqa: PLC0415

    with record_run(job, store, recording or Recording(), progress) as run:
        yield run


def run_exploration(job: Job, run: ExplorationRun, progress: Progress | None) -> Exploration:
    """Explores in an open run, and finishes the run.

    Raises:
        InputError: where the constraints do not suit a layer.
        InfeasibleError: where no layer has a mapping that fits.
        StoreError: where the store cannot be written.
    """
    pipeline = exploration_pipeline(job.plan, _ports(progress, run))
    run.record_pipeline(pipeline)
    total = pipeline(job.network)
    run.finish(total)
    return Exploration(
        run=run.id,
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
    label: RunLabel | None = None,
    recording: Recording | None = None,
    progress: Progress | None = None,
) -> FrontExploration:
    """Finds the Pareto front of every layer in energy and latency.

    The front is over all candidates of the plan, regardless of its objective; the store records the
    best mappings for the objective as the results of the run.

    Raises:
        InputError: where the constraints do not suit a layer, or the plan prunes.
        InfeasibleError: where no layer has a mapping that fits.
        StoreError: where the store cannot be written.
    """
    chosen = plan or SearchPlan()
    job = Job(chosen.prepare(network), chosen, pareto=True, label=label or UNLABELED)
    check_front_plan(job.plan)
    with _open_run(job, store, recording, progress) as run:
        return run_front_exploration(job, run, progress)


def check_front_plan(plan: SearchPlan) -> None:
    """Checks that a plan can find Pareto fronts.

    Raises:
        InputError: where the plan prunes, fuses layers, or has a limit.
    """
    if plan.at_most is not None:
        hint = "a front has the best mappings under every limit"
        raise InputError.conflict("at_most", "a search for fronts", hint)
    if plan.prune:
        hint = "pruning would skip parts of the front"
        raise InputError.conflict("prune", "a search for fronts", hint)
    if plan.fuse:
        hint = "keep_on_chip keeps whole tensors on chip for the objective of the plan"
        raise InputError.conflict("fuse", "a search for fronts", hint)


def run_front_exploration(
    job: Job, run: ExplorationRun, progress: Progress | None
) -> FrontExploration:
    """Explores for Pareto fronts in an open run, and finishes the run.

    Raises:
        InputError: where the constraints do not suit a layer.
        InfeasibleError: where no layer has a mapping that fits.
        StoreError: where the store cannot be written.
    """
    pipeline = front_pipeline(job.plan, _ports(progress, run))
    run.record_pipeline(pipeline)
    front = pipeline(job.network)
    run.finish(front.best(job.plan.objective))
    return FrontExploration(
        run=run.id,
        workload=job.network.workload.name,
        accelerator=job.network.accelerator.name,
        front=front,
    )


def _layers(layers: Sequence[object], infeasible: Sequence[InfeasibleLayer]) -> str:
    whole = len(layers) + len(infeasible)
    return f"{whole} layers, without {len(infeasible)} of them" if infeasible else f"{whole} layers"


def _ports(progress: Progress | None, run: ExplorationRun) -> Ports:
    return Ports(() if progress is None else (progress,), run.ledger)


def evaluate(
    layer: Layer,
    accelerator: GivenAccelerator,
    spatial_mapping: SpatialMapping,
    temporal_mapping: TemporalMapping,
    constraints: LayerConstraints | None = None,
    reference: bool | None = None,
) -> CostModelEvaluation:
    """Evaluates one mapping of one layer; with ``reference`` as the reference counts.

    Raises:
        pydantic.ValidationError: where layer, accelerator and mapping do not match.
    """
    problem = MappingProblem(
        layer=layer,
        accelerator=read_accelerator(accelerator).counted(Counting.of(reference)),
        constraints=constraints or LayerConstraints(),
    )
    spatial = SpatialProblem(problem=problem, spatial_mapping=spatial_mapping)
    return evaluate_mapping(spatial, temporal_mapping)
