"""The named queries: each number is that of the Python models, whatever state a run is in."""

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import cast, final
from uuid import UUID, uuid4

import numpy as np
import pytest

from nestmap.model import (
    MOVEMENTS,
    CostModelEvaluation,
    NetworkProblem,
    Objective,
    Recording,
    RecordMode,
    StoreError,
    Workload,
)
from nestmap.model.base import copy_with
from nestmap.pipeline.explore.api import (
    Exploration,
    FrontExploration,
    explore_front,
    explore_network,
)
from nestmap.pipeline.explore.options import SearchOptions
from nestmap.pipeline.explore.plan import SearchPlan
from nestmap.store import Parameter, Store
from nestmap.store.read.named_queries import Arguments
from nestmap.store.read.relation import Row
from tests.costmodel.test_busy_ports import BOTH, SHARED
from tests.loma import LOMA, with_loma
from tests.pipeline.networks import FIRST, MACHINE, PROBLEM, SECOND
from tests.store.builders import NASTY, info

Key = tuple[object, ...]

AGAIN = copy_with(FIRST, {"name": "again"})
REPEATED = copy_with(PROBLEM, {"workload": Workload.of(FIRST, SECOND, AGAIN, name="more")})
PLAN = SearchPlan.of(SearchOptions(search="loma", spatial_mappings=8))


@final
@dataclass(frozen=True)
class Explored:
    """A store with a run for fronts, and one of a smaller network that is a little different."""

    store: Store
    front: FrontExploration
    best: Exploration

    def ask(self, name: str, **more: str | int | UUID) -> list[Row]:
        arguments = {Parameter(key): value for key, value in more.items()}
        return self.store.ask(name, {Parameter.RUN: self.front.run, **arguments}).rows()


@pytest.fixture(name="explored", scope="module")
def _explored() -> Iterator[Explored]:
    with Store.open(None) as store:
        front = explore_front(REPEATED, PLAN, store=store)
        best = explore_network(
            _cheaper(), SearchPlan.of(with_loma(objective="energy")), store=store
        )
        yield Explored(store, front, best)


def _cheaper() -> NetworkProblem:
    """Without the third layer, and a buffer that takes half of the energy to read."""
    levels = list(MACHINE.memories)
    instance = copy_with(levels[1].instance, {"read_energy": levels[1].instance.read_energy / 2})
    levels[1] = copy_with(levels[1], {"instance": instance})
    return copy_with(PROBLEM, {"accelerator": copy_with(MACHINE, {"memories": tuple(levels)})})


def numbers(rows: list[Row], column: str) -> list[float]:
    return [cast("float", row[column]) for row in rows]


def test_history_lists_runs_with_their_totals(explored: Explored) -> None:
    rows = explored.store.ask("history").rows()
    assert [row["run"] for row in rows] == [str(explored.front.run), str(explored.best.run)]
    assert numbers(rows, "energy")[1] == explored.best.total.energy
    assert [row["objective"] for row in rows] == ["latency", "energy"]
    assert min(numbers(rows, "cpu_seconds")) > 0


def test_network_totals_are_those_of_python(explored: Explored) -> None:
    (row,) = explored.ask("network_totals", run=explored.best.run)
    total = explored.best.total
    cmes = [x.cme for x in total.layers]
    names = ("energy", "latency", "edp", "utilization", "macs", "evaluations", "vector_energy")
    assert [row[name] for name in names] == [getattr(total, name) for name in names]
    for name in ("mac_energy", "memory_energy", "stall"):
        assert row[name] == sum(getattr(cme, name) for cme in cmes)


def test_per_layer_is_the_best_of_each_layer(explored: Explored) -> None:
    found = explored.ask("per_layer")
    best = explored.store.best(explored.front.run)
    assert len(found) == len(best.layers) == 3
    for row, result in zip(found, best.layers, strict=True):
        cme = result.cme
        assert (row["layer"], row["repeats"]) == (cme.layer, result.repeats)
        assert (row["energy"], row["latency"]) == (cme.energy, cme.latency)
        assert row["edp"] == cme.energy * cme.latency
        assert result.bound is not None
        assert (row["bound"], row["gap"]) == (result.bound.value, result.gap)
        assert row["spatial_mapping"] == str(cme.spatial_mapping)
        assert row["temporal_mapping"] == " ".join(
            f"[{x.dimension} {x.size}]" for x in cme.temporal_mapping.order
        )
        assert row["dataflows"] == [x.value for x in cme.dataflows]
    assert found[2]["repeats"] == "first"


def test_the_best_mappings_say_what_they_took_and_what_ended_their_search() -> None:
    """With the least of effort; the layer that repeats another takes none."""
    with Store.open(None) as store:
        plan = SearchPlan.of(SearchOptions(time_limit=1e-9))
        run = explore_network(REPEATED, plan, store=store).run
        rows = store.ask("per_layer", {Parameter.RUN: run}).rows()
        assert [row["ended_by"] for row in rows] == ["time", "time", None]
        assert [row["cpu_seconds"] is None for row in rows] == [False, False, True]
        whole = store.query("SELECT cpu_seconds FROM runs").rows()[0]["cpu_seconds"]
        spent = [row["cpu_seconds"] for row in rows[:2]]
        assert 0 < sum(cast("list[float]", spent)) <= cast("float", whole)
        (limits,) = store.query("SELECT ended_by(3, 0), ended_by(0, 0)").rows()
        assert list(limits.values()) == ["work", None]


def test_energy_by_memory_adds_up_all_layers(explored: Explored) -> None:
    energy: dict[Key, float] = defaultdict(float)
    accesses: Counter[Key] = Counter()
    total = explored.store.best(explored.front.run)
    for result in total.layers:
        for level in result.cme.levels:
            for movement in MOVEMENTS:
                key = (level.memory, level.operand, movement.name.lower())
                energy[key] += level.costs.energy_of(movement)
                accesses[key] += level.costs.accesses_of(movement)
    rows = explored.ask("energy_by_memory")
    found: dict[Key, Row]
    found = {(row["memory"], row["operand"], row["movement"]): row for row in rows}
    assert set(found) == {key for key, count in accesses.items() if count}
    for part, row in found.items():
        assert row["accesses"] == accesses[part]
        assert row["energy"] == pytest.approx(energy[part])
    shares = sum(numbers(rows, "share"))
    assert shares == pytest.approx(sum(x.cme.memory_energy for x in total.layers) / total.energy)
    assert numbers(rows, "energy") == sorted(numbers(rows, "energy"), reverse=True)


def test_stalls_are_the_ports_that_stall(explored: Explored) -> None:
    rows = explored.ask("stalls")
    best = explored.store.best(explored.front.run)
    expected = {
        (x.cme.layer, port.memory, port.port, port.stall, x.cme.stall)
        for x in best.layers
        for port in x.cme.port_stalls
        if port.stall > 0
    }
    columns = ("layer", "memory", "port", "stall", "layer_stall")
    assert expected
    assert {tuple(row[name] for name in columns) for row in rows} == expected
    order = list(zip(numbers(rows, "layer_stall"), numbers(rows, "stall"), strict=True))
    assert [x for x, _ in order] == sorted((x for x, _ in order), reverse=True)


def test_overloaded_ports_are_those_that_are_busy_for_longer() -> None:
    with Store.open(None) as store:
        workload = Workload.of(BOTH.layer, name="overlapping")
        narrow = copy_with(PROBLEM, {"workload": workload, "accelerator": SHARED})
        found = explore_network(narrow, SearchPlan.of(LOMA), store=store)
        rows = store.ask("overloaded_ports", {Parameter.RUN: found.run}).rows()
    (result,) = found.total.layers
    overloaded = result.cme.overloaded_port
    assert overloaded is not None
    assert overloaded.busy is not None
    (row,) = rows
    assert row == {
        **{"layer": result.cme.layer, "memory": overloaded.memory, "port": overloaded.port},
        **{"busy": overloaded.busy, "latency": result.cme.latency},
        "load": overloaded.busy / result.cme.latency,
    }


def test_usage_is_what_levels_hold(explored: Explored) -> None:
    columns = ("memory", "operand", "level", "elements", "bits", "utilization")
    found = {(row["layer"], *(row[name] for name in columns)) for row in explored.ask("usage")}
    assert found == {
        (x.cme.layer, *(getattr(level, name) for name in columns))
        for x in explored.store.best(explored.front.run).layers
        for level in x.cme.levels
    }


def test_tried_counts_what_the_searches_counted(explored: Explored) -> None:
    counted: Counter[tuple[object, str]] = Counter()
    for row in explored.ask("tried"):
        counted[row["layer"], str(row["outcome"])] += cast("int", row["candidates"])
    for layer in explored.front.front.layers[:2]:  # the third one is the first again
        assert counted[layer.layer, "feasible"] == layer.statistics.evaluations
        for failed in layer.statistics.infeasible:
            assert counted[layer.layer, failed.reason] == failed.count


def points(explored: Explored) -> list[tuple[str, float, float]]:
    fronts = explored.front.front.layers
    return [(x.layer, cme.energy, cme.latency) for x in fronts[:2] for cme in x.cmes]


def test_pareto_is_the_front_of_each_different_layer(explored: Explored) -> None:
    rows = explored.ask("pareto")
    assert [(x["layer"], x["energy"], x["latency"]) for x in rows] == points(explored)
    for row in rows:
        cme = explored.store.evaluation(str(row["id"]))
        assert (row["energy"], row["latency"]) == (cme.energy, cme.latency)
        assert row["utilization"] == cme.utilization
        assert row["spatial_mapping"] == str(cme.spatial_mapping)
        assert row["ordering"] == [x.model_dump() for x in cme.temporal_mapping.order]
        assert row["cuts"] == [
            {"operand": x.operand, "positions": list(x.positions)}
            for x in cme.temporal_mapping.cuts
        ]


@pytest.mark.parametrize("incomplete", ["true", "id % 2 = 0"])
def test_pareto_of_searches_that_are_not_complete(incomplete: str) -> None:
    with Store.open(None) as store:
        explored = explore_front(REPEATED, PLAN, store=store)
        arguments = {Parameter.RUN: explored.run}
        before = store.ask("pareto", arguments).rows()
        store.query(f"UPDATE searches SET front = NULL, evaluations = NULL WHERE {incomplete}")
        assert store.ask("pareto", arguments).rows() == before
        assert before


@pytest.fixture(name="ranked", params=Objective, scope="module")
def _ranked(request: pytest.FixtureRequest) -> Iterator[tuple[Store, Exploration, Objective]]:
    """A store with a run for each objective, only to be read."""
    objective = cast("Objective", request.param)
    with Store.open(None) as store:
        plan = copy_with(PLAN, {"objective": objective})
        yield store, explore_network(REPEATED, plan, store=store), objective


@pytest.mark.parametrize("layer", ["first", "second", "again"])
def test_top_is_the_beginning_of_all_sorted(
    ranked: tuple[Store, Exploration, Objective], layer: str
) -> None:
    store, explored, objective = ranked
    batches = store.evaluations(explored.run, "first" if layer == "again" else layer)
    arguments: Arguments = {Parameter.RUN: explored.run, Parameter.LAYER: layer}
    rows = store.ask("top", {**arguments, Parameter.K: 7}).rows()
    every = store.ask("top", {**arguments, Parameter.K: 10**6}).rows()
    best = {x.cme.layer: x.cme for x in store.best(explored.run).layers}[layer]
    energy = np.concatenate([batch.energy for batch in batches])
    latency = np.concatenate([batch.latency2 for batch in batches])
    value = {"energy": energy, "latency": latency, "edp": energy * latency}[objective.value]
    order = np.lexsort((latency, energy, value))
    found = list(zip(numbers(every, "energy"), numbers(every, "latency"), strict=True))
    assert found == list(zip(energy[order].tolist(), latency[order].tolist(), strict=True))
    assert rows == every[:7]
    assert [row["rank"] for row in rows] == list(range(1, len(rows) + 1))
    assert (rows[0]["energy"], rows[0]["latency"]) == (best.energy, best.latency)


@pytest.mark.parametrize("record", RecordMode)
def test_top_knows_the_best_whatever_was_recorded(record: RecordMode) -> None:
    with Store.open(None) as store:
        recording = Recording(record=record)
        explored = explore_network(PROBLEM, PLAN, store=store, recording=recording)
        for result in explored.total.layers:
            layer = result.cme.layer
            given: Arguments
            given = {Parameter.RUN: explored.run, Parameter.LAYER: layer, Parameter.K: 3}
            rows = store.ask("top", given).rows()
            assert rows[0]["latency"] == result.cme.latency
            assert len({row["id"] for row in rows}) == len(rows)
            if record is not RecordMode.NONE:
                assert store.evaluation(str(rows[0]["id"])).latency == result.cme.latency


def test_top_of_a_layer_that_an_interrupted_run_has_not_come_to() -> None:
    with Store.open(None) as store:
        run = explore_network(REPEATED, PLAN, store=store).run
        given: Arguments = {Parameter.RUN: run, Parameter.LAYER: "again", Parameter.K: 3}
        before = store.ask("top", given).rows()
        store.query("DELETE FROM results")
        assert store.ask("top", given).rows() == before
        assert len(before) == 3


def test_compare_says_what_changed(explored: Explored) -> None:
    new = {x.cme.layer: x.cme for x in explored.best.total.layers}
    old = {x.cme.layer: x.cme for x in explored.store.best(explored.front.run).layers}
    rows = explored.ask("compare", run=explored.best.run, against=explored.front.run)
    assert [row["layer"] for row in rows] == ["first", "second", "again"]
    for row in rows[:2]:
        now, former = new[str(row["layer"])], old[str(row["layer"])]
        assert (row["energy_before"], row["energy_after"]) == (former.energy, now.energy)
        assert row["energy_ratio"] == now.energy / former.energy
        assert row["latency_ratio"] == now.latency / former.latency
        assert row["mapping_change"] == _change(now, former)
    assert (rows[2]["mapping_change"], rows[2]["energy_after"]) == ("layer is gone", None)
    (*_, row) = explored.ask("compare", against=explored.best.run)
    assert (row["layer"], row["mapping_change"]) == ("again", "layer is new")


def _change(now: CostModelEvaluation, former: CostModelEvaluation) -> str:
    changed = [
        word
        for word, differs in (
            ("spatial", now.spatial_mapping != former.spatial_mapping),
            ("temporal", now.temporal_mapping != former.temporal_mapping),
        )
        if differs
    ]
    return " and ".join(changed) or "none"


def test_nothing_changed_from_a_run_to_itself(explored: Explored) -> None:
    rows = explored.ask("compare", against=explored.front.run)
    assert {row["mapping_change"] for row in rows} == {"none"}
    assert set(numbers(rows, "energy_ratio")) == {1}
    assert explored.ask("settings", against=explored.front.run) == []


def test_settings_are_what_was_asked_differently(explored: Explored) -> None:
    rows = explored.ask("settings", run=explored.best.run, against=explored.front.run)
    found = {row["setting"]: (row["before"], row["after"]) for row in rows}
    read = MACHINE.memories[1].instance.read_energy
    assert found["objective"] == ("latency", "energy")
    assert found["accelerator.memories.buffer.read_energy"] == (str(read), str(read / 2))
    assert found["options.spatial.max_mappings"] == ("8", "3")
    assert found["workload.name"] == ("more", "net")
    memories = [str(x) for x in found if str(x).startswith("accelerator.")]
    assert memories == ["accelerator.memories.buffer.read_energy"]


QUERIES = {
    "areas": (),
    "bandwidth": (),
    "bytes_moved": (),
    "compare": ("against",),
    "energy_by_part": (),
    "energy_by_memory": (),
    "network_totals": (),
    "on_chip": (),
    "overloaded_ports": (),
    "pareto": (),
    "per_layer": (),
    "roofline": (),
    "segments": (),
    "settings": ("against",),
    "stalls": (),
    "top": ("layer", "k"),
    "tried": (),
    "usage": (),
    "node_costs": (),
    "stream_cores": (),
    "stream_energy": (),
    "stream_front": (),
    "stream_generations": (),
    "stream_layers_of": (),
    "stream_links": (),
    "stream_memories": (),
    "stream_nodes": (),
    "stream_transfers": (),
}


def test_all_queries_are_known_here(explored: Explored) -> None:
    known = {x.name: x.parameters for x in explored.store.named_queries()}
    assert known == {
        "history": (),
        "designs": (),
        **dict.fromkeys(("sweep_best", "sweep_front", "sweep_parameters"), ("sweep",)),
        **{name: ("run", *more) for name, more in QUERIES.items()},
    }
    assert list(known) == sorted(known)


def asked(name: str, run: UUID) -> dict[Parameter, str | int | UUID]:
    values: dict[str, str | int | UUID] = {"against": run, "layer": FIRST.name, "k": 5}
    return {Parameter.RUN: run, **{Parameter(x): values[x] for x in QUERIES[name]}}


@pytest.fixture(name="without_results", scope="module")
def _without_results() -> Iterator[tuple[Store, tuple[UUID, UUID]]]:
    """A store with a run that goes on and one that failed, only to be read."""
    with Store.open(None) as store, store.start_run(info(PROBLEM)) as running:
        with store.start_run(info(PROBLEM)) as failed:
            failed.fail("for a reason")
        yield store, (running.id, failed.id)


@pytest.mark.parametrize("name", sorted(QUERIES.keys() - {"areas", "on_chip"}))
def test_a_run_without_results_has_no_rows(
    without_results: tuple[Store, tuple[UUID, UUID]], name: str
) -> None:
    store, runs = without_results
    for run in runs:
        assert len(store.ask(name, asked(name, run))) == 0


@pytest.fixture(name="empty", scope="module")
def _empty() -> Iterator[Store]:
    """A store without runs, only to be read."""
    with Store.open(None) as store:
        yield store


@pytest.mark.parametrize("name", QUERIES)
def test_an_unknown_run_is_told(empty: Store, name: str) -> None:
    assert len(empty.ask("history")) == 0
    with pytest.raises(StoreError, match="not in this store"):
        empty.ask(name, asked(name, uuid4()))


def test_a_query_that_is_not_known_is_told(explored: Explored) -> None:
    with pytest.raises(StoreError, match=r"query 'paretto': .* expected pareto"):
        explored.store.ask("paretto")
    with pytest.raises(
        StoreError, match="expected one of areas, bandwidth, best, bytes_moved, compare, "
    ):
        explored.store.ask(NASTY)


@pytest.mark.parametrize(
    ("name", "arguments", "told"),
    [
        ("history", {Parameter.K: 1}, "found k; expected no parameter"),
        ("top", {Parameter.RUN: UUID(int=0)}, "found run; expected run, layer, k"),
    ],
)
def test_parameters_that_do_not_suit_are_told(
    explored: Explored, name: str, arguments: dict[Parameter, int | UUID], told: str
) -> None:
    with pytest.raises(StoreError, match=f"query {name}: {told}"):
        explored.store.ask(name, arguments)


@pytest.mark.parametrize(("layer", "told"), [("frist", "expected first"), (NASTY, "one of first")])
def test_a_layer_that_is_not_there_is_told(explored: Explored, layer: str, told: str) -> None:
    with pytest.raises(StoreError, match=told):
        explored.ask("top", layer=layer, k=1)


def test_names_that_look_like_sql_are_only_names() -> None:
    machine = copy_with(MACHINE, {"name": NASTY})
    workload = Workload.of(copy_with(FIRST, {"name": NASTY}), name=NASTY)
    problem = NetworkProblem(workload=workload, accelerator=machine)
    with Store.open(None) as store:
        run = explore_network(problem, PLAN, store=store).run
        given: Arguments = {
            Parameter.RUN: run,
            Parameter.AGAINST: run,
            Parameter.LAYER: NASTY,
            Parameter.K: 2,
        }
        for query in store.named_queries():
            if Parameter.SWEEP in query.parameters:  # there is no sweep
                continue
            answer = store.ask(query.name, {x: given[x] for x in query.parameters})
            if "layer" in answer.columns:
                assert {row["layer"] for row in answer.rows()} <= {NASTY}
            assert query.name != "top" or len(answer) == 2
        assert len(store.runs()) == 1


def test_a_query_that_a_user_adds_is_a_named_one_too() -> None:
    with Store.open(None) as store:
        store.query('CREATE MACRO "my ""own"""(k) AS TABLE SELECT range AS n FROM range(k)')
        store.query('COMMENT ON MACRO TABLE "my ""own""" IS \'Numbers\'')
        store.query("CREATE MACRO strange(anything) AS TABLE SELECT anything")
        store.query("COMMENT ON MACRO TABLE strange IS 'Not to be asked by name'")
        assert ('my "own"', "Numbers", (Parameter.K,)) in [
            (x.name, x.description, x.parameters) for x in store.named_queries()
        ]
        assert "strange" not in {x.name for x in store.named_queries()}
        assert store.ask('my "own"', {Parameter.K: 2}).rows() == [{"n": 0}, {"n": 1}]


def test_queries_also_answer_from_a_file_that_is_only_read(tmp_path: Path) -> None:
    path = tmp_path / NASTY.replace("\\", "")  # which DuckDB takes for a separator
    run = explore_network(PROBLEM, PLAN, store=path).run
    with Store.open_read_only(path) as store:
        for name in QUERIES:
            store.ask(name, asked(name, run))
        assert len(store.ask("top", asked("top", run))) == 5
