"""Round trip: what explorations of any kind write is read back equal, and computed again equal."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nestmap.costmodel.evaluate import evaluate_batch
from nestmap.model import (
    MOVEMENTS,
    CostModelEvaluation,
    EvaluationBatch,
    InfeasibleError,
    LayerNode,
    MappingType,
    MemoryLevel,
    NetworkEvaluation,
    NetworkFront,
    NetworkProblem,
    Objective,
    Recording,
    RecordMode,
    Workload,
)
from nestmap.model.base import copy_with
from nestmap.pipeline.explore.api import explore_front, explore_network
from nestmap.pipeline.explore.plan import SearchPlan
from nestmap.pipeline.stages import LomaStage, SalsaStage, SpatialMappingGeneratorStage
from nestmap.store import RunRecord, RunStatus, Store
from tests.store.builders import NASTY, Rows, rows_of
from tests.strategies import accelerators, layers
from tests.sweeps import some_of
from tests.vectors import relu

SMALL: Final = 2**11
"""Multiply-accumulates of a layer, at most."""

ASKED: Final = 24
"""Evaluations of a run that are asked for by name."""


@st.composite
def networks(draw: st.DrawFn) -> NetworkProblem:
    """One or two layers, which may be the same but for their names, and a vector operator."""
    machine = draw(accelerators())
    if draw(st.integers(0, 4)):  # of those of the strategy half are too small for most layers
        machine = copy_with(machine, {"memories": tuple(map(roomy, machine.memories))})
    of = draw(st.lists(layers(SMALL), min_size=1, max_size=2))
    if draw(st.booleans()):
        of.append(of[0])
    names = draw(st.permutations([NASTY, "layer", "it's"]))
    nodes = [LayerNode(layer=copy_with(x, {"name": n})) for x, n in zip(of, names, strict=False)]
    vector = [relu("vector", 4, 4)] if draw(st.booleans()) else []
    workload = Workload(name=NASTY, nodes=(*nodes, *vector))
    return NetworkProblem(workload=workload, accelerator=machine)


def roomy(level: MemoryLevel) -> MemoryLevel:
    larger = copy_with(level.instance, {"size": 50 * level.instance.size})
    return copy_with(level, {"instance": larger})


@st.composite
def plans(draw: st.DrawFn) -> SearchPlan:
    """Any way of searching that is soon done."""
    kind = draw(st.sampled_from(MappingType))
    chains, iterations = draw(st.integers(1, 2)), draw(st.integers(1, 12))
    walk = SalsaStage(chains=chains, iterations=iterations, mapping_type=kind, seed=2)
    return SearchPlan(
        objective=draw(st.sampled_from(Objective)),
        search=LomaStage(lpf_limit=4, mapping_type=kind) if draw(st.booleans()) else walk,
        spatial=SpatialMappingGeneratorStage(
            max_mappings=draw(st.integers(1, 2)), mixed=draw(st.booleans())
        ),
        count_vector=draw(st.booleans()),
    )


ALL_ANEW: Final = Recording(fresh=True)
RECORDINGS: Final = st.just(ALL_ANEW) | st.builds(
    Recording,
    record=st.sampled_from(RecordMode),
    limit=st.none() | st.integers(1, 40),
    fresh=st.booleans(),
)


@dataclass
class Notebook:
    """Whoever writes down every batch, by the layer."""

    batches: dict[str, list[EvaluationBatch]] = field(
        default_factory=dict[str, list[EvaluationBatch]]
    )

    def start(self, network: NetworkProblem) -> None:
        """Nothing to note."""

    def observe(self, batch: EvaluationBatch) -> None:
        self.batches.setdefault(batch.mappings.problem.layer.name, []).append(batch)

    def recall(self, batch: EvaluationBatch) -> None:
        """Nothing to note."""


@pytest.fixture(scope="module")
def store() -> Store:
    """One for all runs: they share what is equal, and must not mix up what is not."""
    return Store.open(None)


@dataclass
class Explored:
    """What an exploration gave itself; ``None`` where no mapping fits."""

    total: NetworkEvaluation | None
    front: NetworkFront | None
    seen: Notebook


def explored(
    network: NetworkProblem, plan: SearchPlan, store: Store | None, recording: Recording
) -> Explored:
    seen = Notebook()
    try:
        total = explore_network(
            network, plan, store=store, recording=recording, progress=seen
        ).total
    except InfeasibleError:
        return Explored(None, None, seen)
    return Explored(total, explore_front(network, plan).front, seen)


@settings(
    max_examples=some_of(30),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
@given(networks(), plans(), RECORDINGS)
def test_what_a_run_writes_is_read_back_and_computed_again(
    store: Store, network: NetworkProblem, plan: SearchPlan, recording: Recording
) -> None:
    found = explored(network, plan, store, recording)
    run = store.runs()[-1]
    check_info(store, run, network, plan, recording)
    check_evaluations(store, run)
    if found.total is None:
        assert run.status is RunStatus.FAILED
        return
    assert run.status is RunStatus.DONE
    assert store.best(run.id) == found.total
    check_reported(store, run, [layer.cme for layer in found.total.layers])
    assert store.pareto(run.id) == found.front
    if recording == ALL_ANEW:
        check_rows(store, run, found.seen)


def check_info(
    store: Store, run: RunRecord, network: NetworkProblem, plan: SearchPlan, recording: Recording
) -> None:
    info = store.info(run.id)
    assert info.network == store.problem(run.id) == network
    assert SearchPlan.model_validate_json(info.options) == plan
    assert (info.recording, info.objective, info.pareto) == (recording, plan.objective, False)
    assert (run.workload, run.accelerator) == (network.workload.name, network.accelerator.name)


def check_evaluations(store: Store, run: RunRecord) -> None:
    """Every recorded evaluation costs the same again, by columns; some by their names as well."""
    for layer in store.problem(run.id).workload.layers:
        found = store.evaluations(run.id, layer.name)
        known = store.costs(run.id, layer.name)
        assert np.array_equal(joined([x.energy for x in known]), joined([x.energy for x in found]))
        latencies = joined([x.latency for x in known]), joined([x.latency2 for x in found])
        assert np.array_equal(*latencies)
        problems = dict.fromkeys(x.mappings.problem for x in found)
        assert tuple(dict.fromkeys(x.problem for x in known)) == tuple(problems)
        for batch in found:
            again = evaluate_batch(batch.mappings)
            for one, other in zip(columns_of(batch), columns_of(again), strict=True):
                assert np.array_equal(one, other)
    sql = "SELECT * FROM evaluations WHERE run = ? ORDER BY id LIMIT ?"
    for row in store.query(sql, [run.id, ASKED]).rows():
        cme = store.evaluation(str(row["id"]))
        costs = (cme.energy, cme.latency0, cme.latency1, cme.latency2)
        assert costs == tuple(row[x] for x in ("energy", "latency0", "latency1", "latency2"))
        assert (cme.layer, str(cme.spatial_mapping)) == (row["layer"], row["spatial_mapping"])
        order = [{"dimension": x.dimension, "size": x.size} for x in cme.temporal_mapping.order]
        assert row["ordering"] == order


def joined(parts: Sequence[np.typing.NDArray[np.float64]]) -> np.typing.NDArray[np.float64]:
    return np.concatenate([*parts, np.empty(0)])


def columns_of(batch: EvaluationBatch) -> Sequence[np.typing.NDArray[np.float64]]:
    return batch.energy, batch.latency0, batch.latency1, batch.latency2


def check_rows(store: Store, run: RunRecord, seen: Notebook) -> None:
    """All that was evaluated is there, in its order."""
    for layer, batches in seen.batches.items():
        assert merged(store.evaluations(run.id, layer)) == merged(batches)


def merged(batches: Sequence[EvaluationBatch]) -> list[object]:
    """Problem, mapping and costs of every row."""
    rows: list[Rows] = [rows_of(batch) for batch in batches]
    return [
        (x.problem, mapping, costs)
        for x in rows
        for mapping, costs in zip(x.mappings, zip(*x.costs, strict=True), strict=True)
    ]


Table = list[tuple[object, ...]]


def check_reported(store: Store, run: RunRecord, cmes: Sequence[CostModelEvaluation]) -> None:
    """What is reported stands in tables, field by field."""
    key = "SELECT cme FROM results WHERE run = ? AND layer = ?"
    for cme in cmes:
        (row,) = store.query(f"SELECT * FROM cmes WHERE hash = ({key})", [run.id, cme.layer]).rows()
        for name in FIGURES:
            assert row[name] == getattr(cme, name), name
        given = [str(row["hash"])]
        assert read(store, "breakdowns", given) == breakdowns(cme)
        assert read(store, "level_usage", given) == level_usage(cme)
        assert read(store, "port_stalls", given) == port_stalls(cme)


FIGURES: Final = (
    *("operator", "macs", "energy", "mac_energy", "memory_energy", "latency0", "latency1"),
    *("latency2", "ideal_cycles", "ideal_temporal_cycles", "stall", "onloading", "offloading"),
    *("drain", "utilization", "area"),
)


def read(store: Store, table: str, key: Sequence[str]) -> Table:
    sql = f"SELECT * EXCLUDE (cme) FROM {table} WHERE cme = ? ORDER BY ALL"
    return [tuple(row.values()) for row in store.query(sql, key).rows()]


def breakdowns(cme: CostModelEvaluation) -> Table:
    return [
        (x.operand, x.level, x.memory, movement.name.lower(), accesses, energy)
        for x in sorted(cme.levels, key=lambda x: (x.operand, x.level))
        for movement, accesses, energy in zip(
            MOVEMENTS, x.costs.accesses, x.costs.energies, strict=True
        )
    ]


def level_usage(cme: CostModelEvaluation) -> Table:
    return sorted(
        (
            x.operand, x.level, x.memory, x.elements, x.bits, x.utilization, x.shared_utilization,
            x.effective_utilization, x.effective_shared_utilization, x.double_buffered,
        )
        for x in cme.levels
    )  # fmt: skip


def port_stalls(cme: CostModelEvaluation) -> Table:
    return sorted((x.memory, x.port, x.stall, x.busy) for x in cme.port_stalls)
