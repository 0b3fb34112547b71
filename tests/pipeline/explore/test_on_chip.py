"""Data kept on chip: recorded with the memories that were used, and replayed at the same cost."""

from __future__ import annotations

from functools import lru_cache
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from nestmap.costmodel.evaluate import evaluate
from nestmap.model import (
    Accelerator,
    InfeasibleError,
    KeptTensor,
    Layer,
    NetworkEvaluation,
    NetworkProblem,
    Objective,
    OutsideCosts,
    Tensor,
    TopLevel,
    VectorNode,
    VectorUnit,
    Workload,
    layer_from_equation,
    without_unused_levels,
)
from nestmap.model.base import copy_with
from nestmap.pipeline.explore.api import explore, explore_front, explore_network, read_network
from nestmap.pipeline.explore.options import SearchOptions
from nestmap.pipeline.explore.plan import SearchPlan
from nestmap.pipeline.explore.replay import replay
from nestmap.pipeline.frontend.bundled import accelerator_names
from nestmap.pipeline.frontend.onnx import parse_onnx
from nestmap.pipeline.frontend.yaml.mapping import parse_mapping
from nestmap.pipeline.render.json.results import full_json
from nestmap.pipeline.render.text.results import kept_notes
from nestmap.pipeline.render.yaml.mapping import found_mapping, write_mapping
from nestmap.store import Parameter, Store
from tests.bundled import bundled_network
from tests.costmodel.machines import machine, memory
from tests.loma import with_loma
from tests.pipeline.frontend.onnx.build import model, node, weights
from tests.sweeps import STRESS, every

# the buffer has room for what passes between the layers
MACHINE = machine(
    memory("register", size=64, operands="I2", width=64),
    memory("buffer", size=512, operands="I1 O", served="D1 D2", width=64),
    memory("top", served="D1 D2", width=64),
    sides={"D1": 4, "D2": 2},
)


def dense(name: str, sizes: tuple[int, int], source: str | None = None) -> Layer:
    """A matrix product of constant weights with what another layer writes."""
    return layer_from_equation(
        "O[b][k]+=W[k][c]*I[b][c]",
        {"B": 1, "K": sizes[0], "C": sizes[1]},
        name=name,
        operator="Gemm",
        sources={"I": source} if source else None,
        constants=("W",),
    )


FIRST, SECOND = dense("first", (8, 12)), dense("second", (6, 8), "first")
NETWORK = NetworkProblem(workload=Workload.of(FIRST, SECOND, name="net"), accelerator=MACHINE)
PLAN = SearchPlan.of(with_loma(keep_on_chip=True, objective="energy"))


# all weights and what passes between the layers have room in the buffer
ROOMY = machine(
    memory("register", size=64, operands="I2", width=64),
    memory("buffer", size=4096, served="D1 D2", width=64),
    memory("top", served="D1 D2", width=64),
    sides={"D1": 4, "D2": 2},
)


def memories(accelerator: Accelerator) -> dict[str, tuple[str, ...]]:
    return {level.name: level.operands for level in accelerator.memories}


def test_data_between_layers_does_not_travel_through_the_top() -> None:
    kept = explore_network(NETWORK, PLAN)
    whole = explore_network(NETWORK, copy_with(PLAN, {"keep_on_chip": False}))
    for result, operand in zip(kept.layers, ("O", "I"), strict=True):
        names = [x.memory for x in result.cme.levels if x.operand == operand]
        assert names[-1] == "buffer"
    assert kept.energy < whole.energy


def test_weights_and_what_enters_or_leaves_use_the_outermost_memory() -> None:
    for result in explore_network(NETWORK, PLAN).layers:
        tops = {x.operand: x.memory for x in result.cme.levels}
        kept = {"first": "O", "second": "I"}[result.cme.layer]
        assert {x for x, memory in tops.items() if memory != "top"} == {kept}


def test_the_reference_has_weights_on_chip_from_the_beginning() -> None:
    found = explore(
        NETWORK.workload, ROOMY, "free", search="loma", keep_on_chip=True, reference=True
    )
    assert all(x.memory != "top" for layer in found.layers for x in layer.cme.levels)
    assert found.total.on_chip is not None
    assert [(x.node, x.operand, x.memory) for x in found.total.on_chip.tensors] == [
        (layer, operand, "buffer") for layer in ("first", "second") for operand in "OW"
    ]


def test_text_json_and_store_say_what_stays_and_why_other_data_does_not(tmp_path: Path) -> None:
    found = explore_network(NETWORK, PLAN, store=tmp_path / "store.duckdb")
    out = "it is an output of the network"
    tensors = (
        KeptTensor(node="first", operand="O", memory="buffer", bits=64),
        KeptTensor(node="second", operand="O", memory="top", bits=48, reason=out),
    )
    assert found.total.on_chip is not None
    assert found.total.on_chip.tensors == tensors
    whole = explore_network(NETWORK, copy_with(PLAN, {"keep_on_chip": False}))
    outside = OutsideCosts(energy=whole.energy, latency=whole.latency)
    assert found.total.on_chip.outside == outside
    less = f"{1 - found.energy / whole.energy:.1%} less energy"
    assert kept_notes(found.total) == [
        f"With all tensors outside it would take {whole.energy:.1f} pJ and {whole.latency:.0f} "
        f"cycles: on chip it takes {less} and {1 - found.latency / whole.latency:.1%} less time.",
        "In buffer stays O of first.",
        f"Through top goes O of second: {out}.",
    ]
    results = full_json(found.total)
    assert isinstance(results, dict)
    assert results["on_chip"] == [x.model_dump() for x in tensors]
    with Store.open_read_only(tmp_path / "store.duckdb") as store:
        assert store.best(found.run) == found.total
        rows = store.ask("on_chip", {Parameter.RUN: str(found.run)})
    assert [dict(row) for row in rows] == [x.model_dump() for x in tensors]


# --- equal to every choice of homes, each layer explored by itself on a smaller machine ---

SUM = VectorNode(
    name="sum",
    operator="Add",
    sources=("third", "first"),
    iterations=(8,),
    outputs=(Tensor(name="sum", sizes=(1, 8), precision=8),),
)
RESIDUAL = Workload.of(
    dense("first", (8, 12)),
    dense("second", (8, 8), "first"),
    dense("third", (8, 8), "second"),
    SUM,
    dense("fourth", (6, 8), "sum"),
    name="residual",
)
ENDS = {  # the tensors of each layer, as operands, and those that wait while it runs
    "first": ({"O": "first"}, ()),
    "second": ({"I": "first", "O": "second"}, ()),
    "third": ({"I": "second", "O": "third"}, ("first",)),
    "fourth": ({"I": "third"}, ()),
}


def with_buffer(size: int) -> Accelerator:
    register, _, top = MACHINE.memories
    small = memory("buffer", size=size, operands="I1 O", served="D1 D2", width=64)
    return copy_with(MACHINE, {"memories": (register, small, top)})


def least_alone(layer: Layer, size: int, kept: set[str], objective: Objective) -> Fitness | None:
    """The optimum of a layer on a machine whose buffer lacks what waits there."""
    ends, waiting = ENDS[layer.name]
    tops = tuple(
        TopLevel(operand={"I": "I1", "O": "O"}[operand], memory="buffer")
        for operand, tensor in ends.items()
        if tensor in kept
    )
    left = size - 64 * len(kept & {*waiting})
    if left <= 0:
        return None
    inputs = tuple(copy_with(x, {"source": None}) for x in layer.inputs)
    alone = copy_with(layer, {"inputs": inputs})
    accelerator = without_unused_levels(with_buffer(left), tops)
    try:
        found = explore(alone, accelerator, "free", objective=objective)
    except InfeasibleError:
        return None
    return Fitness(found.energy, found.latency)


class Fitness(NamedTuple):
    energy: float
    latency: float


@pytest.mark.parametrize("objective", Objective)
@pytest.mark.parametrize("size", [64, 128, 144, 192, 200, 256, 512])
def test_no_other_homes_are_better(size: int, objective: Objective) -> None:
    values: list[float] = []
    for count in range(4):
        for chosen in combinations(("first", "second", "third"), count):
            kept = set[str](chosen)
            costs = [least_alone(x, size, kept, objective) for x in RESIDUAL.layers]
            held = 64 * len(kept & {"third", "first"})  # while the sum is computed
            if None not in costs and held <= size:
                known = [x for x in costs if x is not None]
                total = Fitness(sum(x.energy for x in known), sum(x.latency for x in known))
                values.append(objective.of(total))
    found = explore(RESIDUAL, with_buffer(size), "free", objective=objective, keep_on_chip=True)
    assert objective.of(found) == pytest.approx(min(values), rel=1e-12)
    assert len(values) > 1 or size < 128
    if objective is not Objective.EDP:
        assert found.gap == 0


@pytest.mark.parametrize("objective", Objective)
@pytest.mark.parametrize("name", every(4, accelerator_names()))
@pytest.mark.parametrize("network", ["light:squeezenet", "resnet-18"])
def test_never_worse_than_with_all_data_outside(
    network: str, name: str, objective: Objective
) -> None:
    workload = bundled_network(network) if STRESS else first_layers(bundled_network(network))
    plain = explore(workload, name, objective=objective)
    kept = explore(workload, name, objective=objective, keep_on_chip=True)
    assert objective.of(kept) <= objective.of(plain) * (1 + 1e-12)


def first_layers(workload: Workload) -> Workload:
    """The nodes up to the seventh layer."""
    last = [node.name for node in workload.nodes].index(workload.layers[6].name)
    return copy_with(workload, {"nodes": workload.nodes[: last + 1]})


@pytest.mark.parametrize("name", ["tpu_like", "meta_prototype"])
def test_fronts_are_those_with_tensors_at_home(name: str) -> None:
    workload = first_layers(bundled_network("resnet-18"))
    options: SearchOptions = {"keep_on_chip": True, "objective": "energy", "search": "loma"}
    found = explore(workload, name, **options)
    front = explore_front(read_network(workload, name), SearchPlan.of(options)).front
    assert front.on_chip == found.total.on_chip
    assert front.best(Objective.ENERGY).energy == found.energy


def test_each_search_is_recorded_with_the_memories_that_it_used(tmp_path: Path) -> None:
    file = tmp_path / "store.duckdb"
    found = explore_network(NETWORK, PLAN, store=file)
    with Store.open_read_only(file) as store:
        assert store.best(found.run) == found.total
        for result in found.layers:
            batches = store.evaluations(found.run, result.cme.layer)
            assert sum(map(len, batches)) == result.statistics.evaluations
            used = {x.mappings.problem.accelerator for x in batches}
            assert {x.name for x in used} == {MACHINE.name}
            kept = next(x for x in used if memories(x) != memories(MACHINE))
            levels = {(x.operand, x.memory) for x in result.cme.levels}
            links = batches[0].mappings.problem.problem.links
            assert levels == {
                (operand, level.name)
                for operand, carried in links.items()
                for level in kept.levels_of(carried)
            }
            for batch in batches:
                for i in np.flatnonzero(batch.energy == batch.energy.min(initial=np.inf)):
                    cme = evaluate(batch.mappings.problem, batch.mappings.row(int(i)))
                    assert cme.energy == batch.energy[i]
        (row,) = store.query(
            "SELECT count(DISTINCT accelerator) AS used FROM searches WHERE accelerator NOT IN "
            "(SELECT accelerator FROM runs)"
        )
        assert row["used"] != 0
        # the run is about the whole machine
        assert [run.accelerator for run in store.runs()] == [MACHINE.name]


def test_replayed_it_costs_exactly_the_same(tmp_path: Path) -> None:
    found = explore_network(NETWORK, PLAN)
    replayed = replay(NETWORK.workload, MACHINE, found_mapping(found.total))
    assert [x.cme for x in replayed.layers] == [x.cme for x in found.layers]
    write_mapping(tmp_path / "found.yaml", found.total)
    again = replay(NETWORK.workload, MACHINE, tmp_path / "found.yaml")
    assert again == replayed


@pytest.mark.parametrize("options", [with_loma(lpf_limit=3), SearchOptions(search="salsa")])
@pytest.mark.parametrize(
    ("network", "machine"),
    [
        ("light:alexnet", "tpu_like"),
        ("light:squeezenet", "tpu_like"),
        ("light:shufflenet", "edge_tpu_like"),
    ],
)
def test_bundled_networks_are_replayed_at_the_same_cost(
    network: str, machine: str, options: SearchOptions, tmp_path: Path
) -> None:
    workload = bundled_network(network)
    plan = SearchPlan.of({**options, "spatial_mappings": 3, "keep_on_chip": True})
    found = explore(workload, machine, plan=plan)
    whole = explored_anywhere(network, machine)
    write_mapping(tmp_path / "found.yaml", found.total)
    again = replay(workload, machine, tmp_path / "found.yaml")
    assert [x.cme for x in again.layers] == [x.cme for x in found.layers]
    assert [x.cme.levels for x in found.layers] != [x.cme.levels for x in whole.layers]


@lru_cache
def explored_anywhere(network: str, machine: str) -> NetworkEvaluation:
    """What a bundled network costs where data need not stay on chip."""
    options = SearchOptions(search="loma", spatial_mappings=3, lpf_limit=3)
    problem = read_network(bundled_network(network), machine)
    return explore_network(problem, SearchPlan.of(options)).total


def test_a_mapping_kept_on_chip_is_read_back_as_it_was_written(tmp_path: Path) -> None:
    constraints = found_mapping(explore_network(NETWORK, PLAN).total)
    write_mapping(tmp_path / "found.yaml", explore_network(NETWORK, PLAN).total)
    assert parse_mapping(tmp_path / "found.yaml") == constraints


def test_a_saved_mapping_says_itself_where_data_stays(tmp_path: Path) -> None:
    found = explore_network(NETWORK, PLAN).total
    path = tmp_path / "found.yaml"
    write_mapping(path, found)
    again = copy_with(NETWORK, {"constraints": parse_mapping(path)})
    for keep_on_chip in (False, True):
        plan = SearchPlan.of(with_loma(keep_on_chip=keep_on_chip, objective="energy"))
        total = explore_network(again, plan).total
        assert [x.cme for x in total.layers] == [x.cme for x in found.layers]
    assert total.on_chip is not None
    assert found.on_chip is not None
    assert total.on_chip.tensors == found.on_chip.tensors
    assert total.on_chip.outside is None  # the mapping keeps them on chip


def test_fixed_memories_that_do_not_hold_what_waits_are_told(tmp_path: Path) -> None:
    network = NetworkProblem(workload=RESIDUAL, accelerator=with_buffer(512))
    write_mapping(tmp_path / "found.yaml", explore_network(network, PLAN).total)
    constraints = parse_mapping(tmp_path / "found.yaml")
    crowded = NetworkProblem(
        workload=RESIDUAL, accelerator=with_buffer(200), constraints=constraints
    )
    told = "third: found memories or tiles fixed by the mapping without room for what waits"
    with pytest.raises(InfeasibleError, match=told):
        explore_network(crowded, PLAN)


def test_where_nothing_stays_nothing_is_said_to_be_saved() -> None:
    found = explore(RESIDUAL, with_buffer(56), "free", keep_on_chip=True)
    assert all(note.startswith("Through top") for note in kept_notes(found.total))


@pytest.mark.parametrize(("size", "memory"), [(512, "buffer"), (64, "top")])
def test_vector_operators_work_where_their_tensors_are(size: int, memory: str) -> None:
    options: SearchOptions = {"keep_on_chip": True, "count_vector": True, "search": "loma"}
    found = explore(RESIDUAL, with_buffer(size), "free", **options).total
    (vector,) = found.vector
    assert vector.memory == memory
    assert found.bound is not None
    assert found.bound.value <= found.latency


def test_a_vector_unit_with_a_memory_of_its_own_keeps_it() -> None:
    unit = VectorUnit(lanes=4, operation_energy=0.0, memory="top")
    accelerator = copy_with(with_buffer(512), {"vector_unit": unit})
    found = explore(RESIDUAL, accelerator, "free", keep_on_chip=True, search="loma").total
    assert [x.memory for x in found.vector] == ["top"]


def test_what_leaves_the_network_within_it_stays_out() -> None:
    nodes = [
        node("Gemm", "x w1", "a", name="first"),
        node("Relu", "a", "b", name="relu"),
        node("Gemm", "b w2", "c", name="second"),
    ]
    stored = [weights("w1", 16, 16), weights("w2", 16, 16)]
    shapes = {"b": (1, 16), "c": (1, 16)}
    workload = parse_onnx(model(nodes, {"x": (1, 16)}, stored, outputs=shapes))
    assert workload.outputs == ("relu",)
    found = explore(workload, "tpu_like", "free", keep_on_chip=True, search="loma").total
    assert found.on_chip is not None
    assert {x.reason for x in found.on_chip.tensors} == {"it is an output of the network"}
    inner = parse_onnx(model(nodes, {"x": (1, 16)}, stored))
    assert inner.outputs == ()
