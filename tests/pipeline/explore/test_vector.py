"""Vector operators in explorations: beside the totals or in them, and nothing else changed."""

from pathlib import Path
from typing import Final

import pytest

from nestmap.costmodel.vector_unit import evaluate_vector
from nestmap.model import (
    InputError,
    LayerNode,
    LayerResult,
    MappingConstraints,
    NetworkEvaluation,
    NetworkProblem,
    NoCostNode,
    Objective,
    Workload,
)
from nestmap.model.base import copy_with
from nestmap.pipeline import stage
from nestmap.pipeline.explore.api import explore, explore_front, explore_network, read_network
from nestmap.pipeline.explore.options import SearchOptions
from nestmap.pipeline.explore.plan import SearchPlan
from nestmap.pipeline.explore.replay import replay
from nestmap.pipeline.render.json.results import front_json, full_json, summary_json
from nestmap.pipeline.render.text.results import vector_note
from nestmap.pipeline.render.yaml.mapping import found_mapping
from nestmap.pipeline.stages import VectorStage, WorkloadStage
from nestmap.pipeline.util.atomic_files import Json
from nestmap.store import Store
from tests.loma import with_loma
from tests.pipeline.networks import FIRST, MACHINE, PROBLEM, SECOND
from tests.vectors import relu, with_unit

NODES: Final = (relu("r1", 4, 16, sources=("first",)), relu("r2", 12, operations=5))
MIXED: Final = Workload(
    name="mixed",
    nodes=(
        LayerNode(layer=FIRST),
        *NODES,
        NoCostNode(name="shape", operator="Reshape"),
        LayerNode(layer=SECOND),
    ),
)
UNIT: Final = with_unit(MACHINE, lanes=3, energy=0.7, memory="buffer")
NETWORK_WITH: Final = NetworkProblem(workload=MIXED, accelerator=UNIT)
PLAIN: Final = SearchPlan.of(SearchOptions(search="loma", spatial_mappings=2))
COUNTING: Final = copy_with(PLAIN, {"count_vector": True})


def without_areas(result: LayerResult) -> LayerResult:
    """The vector unit is a part of the accelerator's area."""
    return copy_with(result, {"cme": copy_with(result.cme, {"area": 0.0, "areas": ()})})


def test_the_layers_cost_what_they_cost_without_vector_operators() -> None:
    plain = explore_network(PROBLEM, PLAIN).total
    for plan in (PLAIN, COUNTING):
        found = explore_network(NETWORK_WITH, plan).total
        assert [without_areas(x) for x in found.layers] == list(map(without_areas, plain.layers))
        assert found.vector == tuple(evaluate_vector(node, UNIT) for node in NODES)
    assert plain.vector == ()


def test_totals_differ_by_exactly_the_vector_operators() -> None:
    beside = explore_network(NETWORK_WITH, PLAIN).total
    counted = explore_network(NETWORK_WITH, COUNTING).total
    assert copy_with(counted, {"vector_counted": False}) == beside
    assert beside.energy == explore_network(PROBLEM, PLAIN).total.energy
    assert counted.energy == beside.energy + sum(entry.energy for entry in beside.vector)
    assert counted.latency - beside.latency == sum(entry.latency for entry in beside.vector)
    assert counted.vector_latency > 0


@stage
def searched(network: NetworkProblem) -> NetworkEvaluation:
    """A search that nobody may begin."""
    raise AssertionError(network)


def test_what_cannot_be_counted_is_told_before_the_search() -> None:
    huge = copy_with(MIXED, {"nodes": (*MIXED.nodes, relu("huge", 2**30, 2**24))})
    with pytest.raises(InputError, match="vector operator huge"):
        VectorStage(searched)(copy_with(NETWORK_WITH, {"workload": huge}))


@pytest.mark.parametrize("counted", [False, True])
def test_the_store_has_the_same_totals(counted: bool, tmp_path: Path) -> None:
    file, plan = tmp_path / "store.duckdb", COUNTING if counted else PLAIN
    found = explore_network(NETWORK_WITH, plan, store=file)
    with Store.open_read_only(file) as store:
        assert store.best(found.run) == found.total
        (row,) = store.query("SELECT * FROM totals").rows()
    for name in ("energy", "latency", "edp", "utilization", "vector_energy", "vector_latency"):
        assert row[name] == getattr(found.total, name)
    assert row["vector_counted"] is counted


@pytest.mark.parametrize("counted", [False, True])
def test_fronts_hand_vector_operators_to_their_best(counted: bool) -> None:
    plan = COUNTING if counted else PLAIN
    front = explore_front(NETWORK_WITH, plan).front
    total = explore_network(NETWORK_WITH, plan).total
    best = front.best(Objective.LATENCY)
    assert (best.vector, best.vector_counted) == (total.vector, counted)
    assert best.latency == total.latency


def test_a_replayed_network_has_its_vector_operators_beside_it() -> None:
    found = explore_network(NETWORK_WITH, PLAIN).total
    replayed = replay(MIXED, UNIT, found_mapping(found))
    assert (replayed.energy, replayed.latency) == (found.energy, found.latency)
    assert replayed.vector == found.vector
    assert replay(MIXED, UNIT, found_mapping(found), layer="first").vector == ()


def test_data_kept_on_chip_below_the_memory_of_the_unit() -> None:
    high = copy_with(NETWORK_WITH, {"accelerator": with_unit(MACHINE, memory="top")})
    kept = explore_network(high, SearchPlan.of(with_loma(keep_on_chip=True))).total
    plain = explore_network(NETWORK_WITH, SearchPlan.of(with_loma(keep_on_chip=True))).total
    assert [x.cme for x in kept.layers] == [x.cme for x in plain.layers]
    assert {entry.memory for entry in kept.vector} == {"top"}


def test_json_lists_every_vector_operator() -> None:
    total = explore_network(NETWORK_WITH, COUNTING).total
    headline: dict[str, Json] = {
        "counted": True,
        "energy": total.vector_energy,
        "latency": total.vector_latency,
    }
    nodes: list[Json] = [
        {**entry.model_dump(), "energy": entry.energy, "latency": entry.latency}
        for entry in total.vector
    ]
    summary, full = summary_json(total), full_json(total)
    assert isinstance(summary, dict)
    assert isinstance(full, dict)
    assert summary["vector"] == headline
    assert full["vector"] == headline | {"nodes": nodes}
    front = front_json(explore_front(NETWORK_WITH, PLAIN).front)
    assert isinstance(front, dict)
    assert front["vector"] == {"counted": False, "nodes": nodes}


def test_the_note_says_all_of_it() -> None:
    beside = explore_network(NETWORK_WITH, PLAIN).total
    note = vector_note(beside, " (say so)")
    assert note == (
        "Vector operators: 2 nodes (Relu 2), 124 operations, 152 B traffic with buffer, "
        f"energy {beside.vector_energy:.1f} pJ, 42 cycles; not in the totals (say so)."
    )
    counted = copy_with(beside, {"vector_counted": True, "vector": beside.vector[:1]})
    assert vector_note(counted, " (say so)").startswith("Vector operators: 1 node (Relu 1), 64 op")
    assert vector_note(counted, " (say so)").endswith("; counted in the totals.")
    assert vector_note(explore_network(PROBLEM, PLAIN).total) == ""


ONLY: Final = Workload(name="only", nodes=(relu("r", 4), relu("s", 4)))
MESSAGE: Final = (
    "workload only: found no layer that the array computes, only vector operators: Relu 2; "
    "expected at least one convolution or matrix product"
)


def test_a_workload_of_vector_operators_only_is_wrong_input() -> None:
    only = NetworkProblem(workload=ONLY, accelerator=UNIT)
    with pytest.raises(InputError) as caught:
        explore(ONLY, UNIT, search="loma", spatial_mappings=3, count_vector=True)
    assert str(caught.value) == MESSAGE
    for plan in (PLAIN, SearchPlan.of(with_loma(keep_on_chip=True, prune=True))):
        with pytest.raises(InputError) as caught:
            explore_network(only, plan)
        assert str(caught.value) == MESSAGE
    with pytest.raises(InputError, match="only vector operators: Relu 2"):
        explore_front(only, PLAIN)
    with pytest.raises(InputError, match="only vector operators: Relu 2"):
        replay(ONLY, UNIT, MappingConstraints())


def test_a_workload_of_nothing_that_costs_is_wrong_input() -> None:
    shapes = Workload(name="shapes", nodes=(NoCostNode(name="s", operator="Reshape"),))
    with pytest.raises(InputError, match="no layer that the array computes; expected"):
        next(WorkloadStage()(NetworkProblem(workload=shapes, accelerator=MACHINE)))


def test_a_bundled_network_without_a_vector_unit() -> None:
    network = read_network("light:squeezenet", "tpu_like")
    found = explore_network(network, SearchPlan.of(with_loma(lpf_limit=2))).total
    assert len(found.vector) == len(network.workload.vector_nodes) > 20
    assert found.energy == sum(x.cme.energy for x in found.layers)
    assert found.latency == sum(x.cme.latency for x in found.layers)
    assert {entry.operation_energy for entry in found.vector} == {0.0}
    bits = sum(node.bits_read + node.bits_written for node in network.workload.vector_nodes)
    assert sum(entry.bits_read + entry.bits_written for entry in found.vector) == bits
    assert found.vector_latency >= bits / 64  # the width of tpu_like's one DRAM port
