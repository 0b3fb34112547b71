"""Data kept on chip: recorded with the memories that were used, and replayed at the same cost."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import numpy as np
import pytest

from nestmap.costmodel.evaluate import evaluate
from nestmap.model import (
    Accelerator,
    Layer,
    NetworkEvaluation,
    NetworkProblem,
    Workload,
    layer_from_equation,
)
from nestmap.model.base import copy_with
from nestmap.pipeline.explore.api import explore, explore_network, read_network
from nestmap.pipeline.explore.options import SearchOptions
from nestmap.pipeline.explore.plan import SearchPlan
from nestmap.pipeline.explore.replay import replay
from nestmap.pipeline.frontend.yaml.mapping import parse_mapping
from nestmap.pipeline.render.yaml.mapping import found_mapping, write_mapping
from nestmap.store import Store
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


@pytest.mark.parametrize("search", ["loma", "salsa"])
@pytest.mark.parametrize(
    ("network", "machine"),
    [
        ("light:alexnet", "tpu_like"),
        ("light:squeezenet", "meta_prototype"),
        ("light:shufflenet", "edge_tpu_like"),
    ],
)
def test_bundled_networks_are_replayed_at_the_same_cost(
    network: str, machine: str, search: str, tmp_path: Path
) -> None:
    workload = bundled_network(network)
    found = explore(
        workload,
        machine,
        search="salsa" if search == "salsa" else "loma",
        spatial_mappings=3,
        lpf_limit=3,
        keep_on_chip=True,
    )
    whole = explored_anywhere(network, machine)
    write_mapping(tmp_path / "found.yaml", found.total)
    again = replay(workload, machine, tmp_path / "found.yaml")
    assert [x.cme for x in again.layers] == [x.cme for x in found.layers]
    assert any(
        len(a.cme.levels) < len(b.cme.levels)
        for a, b in zip(found.layers, whole.layers, strict=True)
    )


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
