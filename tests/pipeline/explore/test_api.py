"""The facade on networks in memory: what it finds is what the pipeline finds."""

import inspect
import json
from collections.abc import Callable
from pathlib import Path
from typing import Literal

import pytest
from pydantic import ValidationError

import nestmap
from nestmap import Exploration, evaluate, explore, model, store
from nestmap.costmodel.evaluate import evaluate as evaluate_mapping
from nestmap.model import (
    EvaluationBatch,
    InfeasibleError,
    InputError,
    LayerConstraints,
    MappingConstraints,
    MappingType,
    NetworkEvaluation,
    NetworkProblem,
    NoCostNode,
    Objective,
    OperandLink,
    OrderedLoop,
    SpatialMapping,
    Unrolling,
    Workload,
)
from nestmap.model.base import copy_with
from nestmap.model.design_space import space
from nestmap.model.evaluation import recording as recording_model
from nestmap.model.workload import builders as build
from nestmap.pipeline import MainStage, Stage, each
from nestmap.pipeline.explore import api, explanation, resume
from nestmap.pipeline.explore.options import SearchOptions, SweepSearchOptions
from nestmap.pipeline.frontend import torch
from nestmap.pipeline.frontend.read import accelerator as read_accelerator
from nestmap.pipeline.frontend.read import mapping as read_mapping
from nestmap.pipeline.frontend.read import workload as read_workload
from nestmap.pipeline.multicore import api as stream
from nestmap.pipeline.multicore import plan as stream_plan
from nestmap.pipeline.stages import (
    CostModelStage,
    LomaStage,
    MinimalEDPStage,
    MinimalEnergyStage,
    MinimalLatencyStage,
    OrderedCandidatesStage,
    SpatialMappingGeneratorStage,
    SumStage,
    WorkloadStage,
)
from nestmap.pipeline.sweep import api as sweep
from nestmap.pipeline.sweep import result as sweep_result
from tests.costmodel.machines import loops, machine, mapped, matmul, memory, ordered

MACHINE = machine(
    memory("register", size=64, operands="I2", width=64),
    memory("buffer", size=512, served="D1", width=16),
    memory("top", served="D1"),
    sides={"D1": 4},
)
FIRST = copy_with(matmul(k=8, c=12, b=2), {"name": "first"})
SECOND = copy_with(matmul(k=6, c=10), {"name": "second"})
NETWORK = Workload.of(FIRST, SECOND, name="net")


def by_hand(
    reducer: MinimalEnergyStage | MinimalLatencyStage | MinimalEDPStage,
    search: LomaStage,
    objective: Objective,
) -> Stage[NetworkProblem, NetworkEvaluation]:
    """The main job wired stage by stage."""
    candidates = SpatialMappingGeneratorStage(max_mappings=3) >> OrderedCandidatesStage()
    best = search >> each(CostModelStage()) >> reducer
    chosen = candidates >> each(best) >> reducer
    return WorkloadStage() >> each(chosen) >> SumStage(objective=objective)


PROBLEM = NetworkProblem(workload=NETWORK, accelerator=MACHINE)


@pytest.mark.parametrize(
    ("objective", "reducer"),
    [
        ("energy", MinimalEnergyStage()),
        ("latency", MinimalLatencyStage()),
        ("edp", MinimalEDPStage()),
    ],
)
@pytest.mark.parametrize("mapping_type", MappingType)
def test_explore_is_the_pipeline(
    objective: Literal["energy", "latency", "edp"],
    reducer: MinimalEnergyStage | MinimalLatencyStage | MinimalEDPStage,
    mapping_type: MappingType,
) -> None:
    explored = explore(
        NETWORK, MACHINE, search="loma", objective=objective, lpf_limit=4, mapping_type=mapping_type
    )
    search = LomaStage(lpf_limit=4, mapping_type=mapping_type)
    assert explored.total == MainStage(by_hand(reducer, search, Objective(objective))).run(PROBLEM)
    assert (explored.workload, explored.accelerator) == ("net", "machine")
    assert explored.objective is Objective(objective)


def test_latency_and_six_factors_are_the_default() -> None:
    wired = by_hand(MinimalLatencyStage(), LomaStage(lpf_limit=6), Objective.LATENCY)
    assert explore(NETWORK, MACHINE, search="loma").total == wired(PROBLEM)


def test_the_objective_matters() -> None:
    found = {
        objective: explore(NETWORK, MACHINE, search="loma", objective=objective)
        for objective in Objective
    }
    by_energy, by_latency = found[Objective.ENERGY], found[Objective.LATENCY]
    assert by_energy.energy < by_latency.energy
    assert by_latency.latency < by_energy.latency
    for objective, exploration in found.items():
        for i, layer in enumerate(exploration.layers):
            others = [value(x, i, objective) for x in found.values()]
            assert value(exploration, i, objective) == min(others)
            assert layer.statistics.evaluations > 1


def value(exploration: Exploration, layer: int, objective: Objective) -> float:
    cme = exploration.layers[layer].cme
    return {
        Objective.ENERGY: cme.energy,
        Objective.LATENCY: cme.latency,
        Objective.EDP: cme.energy * cme.latency,
    }[objective]


@pytest.mark.parametrize(
    ("function", "options"), [(nestmap.explore, SearchOptions), (nestmap.sweep, SweepSearchOptions)]
)
def test_help_explains_every_option(function: Callable[..., object], options: type) -> None:
    text = inspect.getdoc(function) or ""
    _, _, listed = text.partition("Options:\n")
    names = [line.split(":")[0].strip() for line in listed.splitlines() if line[4:5].strip()]
    assert names == list(options.__annotations__)
    words = " ".join(listed.split())
    assert "lpf_limit: " in words
    assert "PERCENT lower than the mapping found" in words
    assert "--" not in words


def test_completion_offers_nothing_that_is_deprecated() -> None:
    found = nestmap.explore(matmul(k=4, c=4, b=4), machine(memory("top", served="D1")))
    offered = dir(found)
    assert {"energy", "latency", "gap", "bound", "layers", "model_dump"} <= set(offered)
    assert not {"dict", "json", "copy", "parse_obj", "from_orm", "schema"} & set(offered)


def test_a_finer_search_finds_no_worse() -> None:
    coarse = explore(NETWORK, MACHINE, search="loma", objective="energy", lpf_limit=1)
    fine = explore(NETWORK, MACHINE, search="loma", objective="energy", lpf_limit=None)
    assert fine.energy <= coarse.energy
    assert fine.total.evaluations > coarse.total.evaluations


def test_totals_add_up_the_layers() -> None:
    explored = explore(NETWORK, MACHINE, search="loma")
    assert [x.cme.layer for x in explored.layers] == ["first", "second"]
    assert explored.energy == sum(x.cme.energy for x in explored.layers)
    assert explored.latency == sum(x.cme.latency for x in explored.layers)
    assert explored.total.macs == FIRST.macs + SECOND.macs


@pytest.mark.parametrize("objective", Objective)
def test_a_result_has_its_bound_and_its_gap(objective: Objective) -> None:
    found = explore(NETWORK, MACHINE, objective=objective)
    assert found.bound is not None
    assert found.bound.objective is objective
    value = objective.value_of(found.energy, found.latency)
    assert found.bound.value <= value * (1 + 1e-12)
    assert found.gap == found.total.gap
    if objective is not Objective.EDP:  # that of each layer is proven, not that of their sum
        assert found.bound.value == pytest.approx(value)
        assert found.gap == 0


def test_every_run_has_its_own_id_and_the_same_result() -> None:
    one, other = explore(NETWORK, MACHINE, search="loma"), explore(NETWORK, MACHINE, search="loma")
    assert one.run != other.run
    assert one.total == other.total


def test_an_exploration_comes_back_from_json() -> None:
    explored = explore(NETWORK, MACHINE, search="loma", lpf_limit=2)
    assert Exploration.model_validate_json(explored.model_dump_json()) == explored


def test_operators_that_cost_nothing_do_not_count() -> None:
    relu = NoCostNode(name="relu", operator="Relu", sources=("first",))
    more = copy_with(NETWORK, {"nodes": (*NETWORK.nodes, relu)})
    assert (
        explore(more, MACHINE, search="loma").total
        == explore(NETWORK, MACHINE, search="loma").total
    )


def unrolled(text: str) -> SpatialMapping:
    return SpatialMapping(unrollings=(Unrolling(array_dimension="D1", loops=loops(text)),))


def constrained(constraints: LayerConstraints) -> MappingConstraints:
    return MappingConstraints(entries=(constraints,))


def test_the_users_spatial_mapping_is_used() -> None:
    mapping = constrained(LayerConstraints(spatial_mapping=unrolled("C 2")))
    explored = explore(NETWORK, MACHINE, mapping, search="loma", lpf_limit=2)
    assert {x.cme.spatial_mapping for x in explored.layers} == {unrolled("C 2")}


def test_the_users_order_is_kept() -> None:
    ordering = (OrderedLoop(dimension="C", size=3),)
    only = LayerConstraints(target="first", temporal_ordering=ordering)
    first, second = explore(NETWORK, MACHINE, constrained(only), search="loma").layers
    assert first.cme.temporal_mapping.order[:1] == loops("C 3")
    assert second.cme == explore(NETWORK, MACHINE, search="loma").layers[1].cme


def test_the_users_links_are_followed() -> None:
    links = (
        OperandLink(operand="W", memory_operand="I1"),
        OperandLink(operand="I", memory_operand="I2"),
    )
    explored = explore(NETWORK, MACHINE, constrained(LayerConstraints(links=links)), search="loma")
    for result in explored.layers:
        assert result.cme.level("I", 0).memory == "register"
        assert result.cme.level("W", 0).memory == "buffer"


@pytest.mark.parametrize(
    ("mapping", "expected"),
    [
        (LayerConstraints(spatial_mapping=unrolled("K 5")), "at most the 4 units"),
        (LayerConstraints(spatial_mapping=unrolled("G 2")), "a dimension of some layer"),
        (LayerConstraints(target="Gemm", spatial_mapping=unrolled("K 5")), "at most the 4 units"),
        (
            LayerConstraints(links=(OperandLink(operand="W", memory_operand="I9"),)),
            "one of I2, I1, O",
        ),
    ],
)
def test_constraints_that_do_not_suit_are_wrong_input(
    mapping: LayerConstraints, expected: str
) -> None:
    with pytest.raises(InputError) as caught:
        explore(NETWORK, MACHINE, constrained(mapping), search="loma")
    assert expected in caught.value.expected


def test_no_layer_is_wrong_input() -> None:
    relu = NoCostNode(name="relu", operator="Relu")
    with pytest.raises(InputError, match="no layer"):
        explore(Workload(name="net", nodes=(relu,)), MACHINE, search="loma")


def test_a_layer_that_fits_nowhere_is_named() -> None:
    tiny = machine(memory("tiny", size=7, operands="I2", served="D1"), memory("top", served="D1"))
    with pytest.raises(InfeasibleError, match=r"layer first: .* no place .* machine: tiny too"):
        explore(NETWORK, tiny, search="loma")


@pytest.mark.parametrize("objective", Objective)
def test_the_exact_search_tells_why_nothing_fits(objective: Objective) -> None:
    narrow = memory("narrow", size=8, operands="O", served="D2")
    top = memory("top", served="D1 D2", width=64)
    tiny = machine(
        memory("register", operands="I2", width=64), narrow, top, sides={"D1": 4, "D2": 2}
    )
    with pytest.raises(InfeasibleError, match="layer first: no loop order fits machine: narrow"):
        explore(NETWORK, tiny, objective=objective)


@pytest.mark.parametrize("lpf_limit", [0, -1])
def test_a_search_needs_a_loop(lpf_limit: int) -> None:
    with pytest.raises((InputError, ValidationError), match="lpf_limit"):
        explore(NETWORK, MACHINE, search="loma", lpf_limit=lpf_limit)


class Watcher:
    """Notes what it is told."""

    def __init__(self) -> None:
        self.told: list[str] = []
        self.rows = 0

    def start(self, network: NetworkProblem) -> None:
        self.told.append(f"start {network.workload.name}")

    def observe(self, batch: EvaluationBatch) -> None:
        self.told.append(batch.mappings.problem.layer.name)
        self.rows += len(batch)

    def recall(self, batch: EvaluationBatch) -> None:
        self.told.append(f"recalled {batch.mappings.problem.layer.name}")


def test_progress_is_told_from_start_to_end() -> None:
    watcher = Watcher()
    explored = explore(NETWORK, MACHINE, search="loma", progress=watcher)
    assert watcher.told[0] == "start net"
    assert watcher.told[1:] == sorted(watcher.told[1:])
    assert set(watcher.told[1:]) == {"first", "second"}
    assert watcher.rows == explored.total.evaluations
    assert explored.total == explore(NETWORK, MACHINE, search="loma").total


def test_several_networks_are_explored_in_one_call(tmp_path: Path) -> None:
    layers = [nestmap.gemm("a", (8, 8), (8, 16)), nestmap.gemm("b", (8, 16), (16, 8))]
    found = nestmap.explore_networks(layers, "tpu_like", store=tmp_path / "runs.duckdb")
    assert [x.workload for x in found] == ["a", "b"]
    assert [x.total for x in found] == [explore(x, "tpu_like").total for x in layers]
    with pytest.raises(InputError, match="nowhere"):
        nestmap.explore_networks([layers[0], "nowhere.yaml"], "tpu_like")


def test_a_layer_is_a_network_of_one() -> None:
    layer = nestmap.conv2d("c", (1, 3, 8, 8), (4, 3, 3, 3))
    found = explore(layer, "tpu_like")
    assert found == copy_with(explore(nestmap.network("c", layer), "tpu_like"), {"run": found.run})
    with pytest.raises(InputError, match="layer d: "):
        explore(nestmap.conv2d("d", (1, 4, 6, 6), (4, 4, 1, 1), source=layer), "tpu_like")


def test_results_show_themselves_in_a_line() -> None:
    found = explore(nestmap.conv2d("c", (1, 3, 8, 8), (4, 3, 3, 3)), "tpu_like")
    front = api.explore_front(api.read_network(nestmap.gemm("g", (8, 8), (8, 8)), "tpu_like"))
    costs = f"{found.latency:,.0f} cycles, {found.energy:.4g} pJ"
    assert repr(found) == f"<Exploration: c on tpu_like, best latency: {costs}, 1 layers>"
    for part in (found.total, found.layers[0], found.layers[0].cme):
        assert costs in repr(part)
    for shown in (found, found.total, found.layers[0], found.layers[0].cme, front):
        assert str(shown) == repr(shown)
        assert len(repr(shown)) <= 120
        assert "\n" not in repr(shown)


def test_evaluate_is_the_cost_model() -> None:
    cuts = {"O": (2, 4), "W": (1, 3, 4), "I": (2, 4)}
    order = ordered("B 2 C 3 C 4 K 2", cuts)
    spatial = mapped(FIRST, MACHINE, {"D1": "K 4"})
    cme = evaluate(FIRST, MACHINE, spatial.spatial_mapping, order)
    assert cme == evaluate_mapping(spatial, order)


def test_the_best_mapping_costs_what_explore_says() -> None:
    for result in explore(NETWORK, MACHINE, search="loma", objective="edp").layers:
        cme = result.cme
        layer = {"first": FIRST, "second": SECOND}[cme.layer]
        assert evaluate(layer, MACHINE, cme.spatial_mapping, cme.temporal_mapping) == cme


def test_evaluate_follows_links() -> None:
    links = (
        OperandLink(operand="W", memory_operand="I1"),
        OperandLink(operand="I", memory_operand="I2"),
    )
    order = ordered("B 2 C 12 K 8", {"O": (1, 3), "W": (1, 3), "I": (1, 2, 3)})
    cme = evaluate(FIRST, MACHINE, SpatialMapping(), order, LayerConstraints(links=links))
    assert cme.level("I", 0).memory == "register"


GOOD = {"O": (2, 3), "W": (1, 3, 3), "I": (2, 3)}


@pytest.mark.parametrize(
    ("order", "cuts"),
    [
        ("B 2 C 12 K 8", {"O": (2, 3), "W": (1, 3, 3)}),  # nothing about I
        ("B 2 C 12 K 8", GOOD | {"X": (3,)}),  # no such operand
        ("B 2 C 12 K 8", GOOD | {"W": (1, 3)}),  # W has three memories
        ("B 2 C 12 K 8", GOOD | {"O": (1, 2, 3)}),  # O has two
        ("B 2 C 6 K 8", GOOD),  # half of C is missing
        ("B 2 C 24 K 8", GOOD),  # twice as much of C as there is
        ("B 2 C 12 G 8", GOOD),  # no such dimension
        ("K 1 " * 128 + "B 2 C 12 K 8", {"O": (2, 131), "W": (1, 3, 131), "I": (2, 131)}),
    ],
)
def test_temporal_mappings_that_do_not_suit_are_wrong_input(
    order: str, cuts: dict[str, tuple[int, ...]]
) -> None:
    with pytest.raises((InputError, ValidationError)):
        evaluate(FIRST, MACHINE, SpatialMapping(), ordered(order, cuts))


@pytest.mark.parametrize("name", dir(nestmap))
def test_the_facade_is_there(name: str) -> None:
    found = getattr(nestmap, name)
    assert any(
        found is getattr(home, name, None)
        for home in (
            *(api, build, explanation, recording_model),
            *(resume, stream, stream_plan, torch, space, sweep, sweep_result),
            *(model, read_accelerator, read_mapping, read_workload, store),
        )
    )


def test_what_is_not_there_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="nestmap attribute explode"):
        getattr(nestmap, "explode")  # noqa: B009 (type checkers know that it is not there)


def test_bundled_names(tmp_path: Path) -> None:
    workload = tmp_path / "net.yaml"
    workload.write_text(
        "- id: 0\n"
        "  operator_type: Gemm\n"
        "  equation: O[b][k]+=W[k][c]*I[b][c]\n"
        "  loop_dims: [B, K, C]\n"
        "  loop_sizes: [1, 64, 64]\n"
        "  operand_precision: {W: 8, I: 8, O: 16, O_final: 8}\n"
        "  operand_source: {W: 0, I: 0}\n"
    )
    explored = explore(str(workload), "tpu_like", search="loma", lpf_limit=2)
    assert explored.accelerator == "tpu_like"
    assert explored.layers[0].cme.macs == 64 * 64
    # its bundled mapping fills the array with K and C
    assert json.loads(explored.layers[0].cme.spatial_mapping.model_dump_json())["unrollings"]
