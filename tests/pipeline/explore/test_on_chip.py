"""Data kept on chip: recorded with the memories that were used, and replayed at the same cost."""

from __future__ import annotations

from functools import lru_cache
from math import ceil
from pathlib import Path
from typing import get_args

import numpy as np
import pytest

from nestmap.costmodel.evaluate import evaluate
from nestmap.model import (
    Accelerator,
    Layer,
    NetworkEvaluation,
    NetworkProblem,
    Objective,
    Workload,
    layer_from_equation,
)
from nestmap.model.base import copy_with
from nestmap.pipeline.analysis.network.kept_tensors import kept_tensors
from nestmap.pipeline.explore.api import explore, explore_network, read_network
from nestmap.pipeline.explore.options import SearchName, SearchOptions
from nestmap.pipeline.explore.plan import SearchPlan
from nestmap.pipeline.explore.replay import replay
from nestmap.pipeline.frontend.yaml.mapping import parse_mapping
from nestmap.pipeline.render.text.results import kept_notes
from nestmap.pipeline.render.yaml.mapping import found_mapping, write_mapping
from nestmap.store import Parameter, Store
from tests.bundled import bundled_network
from tests.costmodel.machines import machine, memory
from tests.loma import with_loma

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


def memories(accelerator: Accelerator) -> dict[str, tuple[str, ...]]:
    return {level.name: level.operands for level in accelerator.memories}


def test_data_between_layers_does_not_travel_through_the_top() -> None:
    kept = explore_network(NETWORK, PLAN)
    whole = explore_network(NETWORK, copy_with(PLAN, {"locality": None}))
    for result, operand in zip(kept.layers, ("O", "I"), strict=True):
        names = [x.memory for x in result.cme.levels if x.operand == operand]
        assert names[-1] == "buffer"
    assert kept.energy < whole.energy


# all weights and what passes between the layers stay in the buffer
ROOMY = machine(
    memory("register", size=64, operands="I2", width=64),
    memory("buffer", size=4096, served="D1 D2", width=64),
    memory("top", served="D1 D2", width=64),
    sides={"D1": 4, "D2": 2},
)


@pytest.mark.parametrize("search", get_args(SearchName))
@pytest.mark.parametrize("objective", Objective)
def test_what_comes_from_outside_moves_once(search: SearchName, objective: Objective) -> None:
    found = explore(
        NETWORK.workload, ROOMY, "free", search=search, objective=objective, keep_on_chip=True
    )
    moved = {
        (layer.cme.layer, x.operand): x.costs.accesses[:2]
        for layer in found.layers
        for x in layer.cme.levels
        if x.memory == "top"
    }
    assert moved == {
        ("first", "W"): (FIRST.elements("W") * 8 // 64, 0),
        ("first", "I"): (ceil(FIRST.elements("I") * 8 / 64), 0),
        ("second", "W"): (SECOND.elements("W") * 8 // 64, 0),
        ("second", "O"): (0, ceil(SECOND.elements("O") * 8 / 64)),
    }


def test_the_reference_has_it_on_chip_from_the_beginning() -> None:
    found = explore(
        NETWORK.workload, ROOMY, "free", search="loma", keep_on_chip=True, reference=True
    )
    assert all(x.memory != "top" for layer in found.layers for x in layer.cme.levels)


def test_text_json_and_store_say_what_stays_and_why_other_data_does_not(tmp_path: Path) -> None:
    network = PLAN.prepare(NETWORK)
    once = " after one transfer from the outermost memory, or before one to it."
    lacking = "no memory on chip holds the weights for all units"
    assert kept_notes(network) == [
        "In buffer stays O of first.",
        f"In buffer stay I of first, O of second{once}",
        f"Through top go W of first, second: {lacking}.",
    ]
    places = [
        ("first", "O", "buffer", False, None),
        ("first", "W", "top", False, lacking),
        ("first", "I", "buffer", True, None),
        ("second", "O", "buffer", True, None),
        ("second", "W", "top", False, lacking),
    ]
    assert [(*x.model_dump().values(),) for x in kept_tensors(network)] == places
    found = explore_network(NETWORK, PLAN, store=tmp_path / "store.duckdb")
    with Store.open_read_only(tmp_path / "store.duckdb") as store:
        (info, rows) = store.info(found.run), store.ask("on_chip", {Parameter.RUN: str(found.run)})
    assert info.network == network
    links = {"O": "O", "W": "I2", "I": "I1"}
    expected = {(layer, links[operand], *rest) for layer, operand, *rest in places}
    said = {tuple(row.values())[1:] for row in rows}
    assert expected < said
    assert said - expected == {("second", "I1", "buffer", False, None)}


def test_data_that_does_not_fit_says_what_it_needs() -> None:
    register, _, top = ROOMY.memories
    small = memory("buffer", size=1300, served="D1 D2", width=64)
    accelerator = copy_with(ROOMY, {"memories": (register, small, top)})
    network = PLAN.prepare(copy_with(NETWORK, {"accelerator": accelerator}))
    reasons = {(x.layer, x.operand): x.reason for x in kept_tensors(network)}
    assert reasons == {
        ("first", "O"): "buffer has 1,300 bit, input and output take 224 beside 1,152 of weights",
        ("first", "W"): "buffer has 1,300 bit, weights and activations take 1,312",
        ("first", "I"): "it stays only where the output of the layer does",
        ("second", "O"): "buffer has 1,300 bit, input and output take 160 beside 1,152 of weights",
        ("second", "W"): "buffer has 1,300 bit, weights and activations take 1,312",
    }


def test_each_search_is_recorded_with_the_memories_that_it_used(tmp_path: Path) -> None:
    file = tmp_path / "store.duckdb"
    found = explore_network(NETWORK, PLAN, store=file)
    with Store.open_read_only(file) as store:
        assert store.best(found.run) == found.total
        for result in found.layers:
            batches = store.evaluations(found.run, result.cme.layer)
            assert sum(map(len, batches)) == result.statistics.evaluations
            used = {x.mappings.problem.accelerator for x in batches}
            (accelerator,) = used
            assert accelerator.name == MACHINE.name
            assert memories(accelerator) != memories(MACHINE)
            levels = {(x.operand, x.memory) for x in result.cme.levels}
            links = batches[0].mappings.problem.problem.links
            assert levels == {
                (operand, level.name)
                for operand, carried in links.items()
                for level in accelerator.levels_of(carried)
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
