"""SQL over stores: views, parameters, names that bite, mistakes."""

from collections.abc import Iterator

import pyarrow as pa
import pytest

from nestmap.model import StoreError, TemporalMapping
from nestmap.model.base import copy_with
from nestmap.store import Store
from tests.store.builders import (
    NASTY,
    accelerator,
    batch,
    info,
    layer,
    network,
    record,
    result,
    spatial_problem,
    vector_entry,
    with_vector,
)

NETWORK = network(layer("one"), layer("two", 24), layer("three"))


@pytest.fixture(name="store", scope="module")
def _store() -> Iterator[Store]:
    """One run with three layers; the first has 20 recorded evaluations. It is only to be read."""
    with Store.open(None) as store, store.start_run(info(NETWORK)) as run:
        record(run, batch(spatial_problem(layer("one"), accelerator()), 20))
        run.finish(result(NETWORK))
        yield store


def test_the_query_of_the_readme(store: Store) -> None:
    answer = store.query("SELECT layer, energy, latency FROM best ORDER BY energy DESC LIMIT 2")
    assert answer.rows() == [
        {"layer": "three", "energy": 30 + 1 / 3, "latency": 79.75},
        {"layer": "two", "energy": 20 + 1 / 3, "latency": 79.75},
    ]


def test_best_tells_the_mapping(store: Store) -> None:
    (row,) = store.query("SELECT * FROM best WHERE layer = 'one'").rows()
    assert row["spatial_mapping"] == "D1: K 2"
    assert row["ordering"] == [{"dimension": "B", "size": 12}, {"dimension": "C", "size": 6}]
    assert row["utilization"] == 72 / 79.75


def test_totals_add_up(store: Store) -> None:
    (row,) = store.query("SELECT * FROM totals").rows()
    total = result(NETWORK)
    for name in ("energy", "latency", "macs", "evaluations", "edp", "utilization"):
        assert row[name] == getattr(total, name)
    assert (row["workload"], row["accelerator"], row["layers"]) == ("net", "machine", 3)


@pytest.mark.parametrize("counted", [False, True])
def test_totals_are_those_of_python_with_and_without_vector_operators(counted: bool) -> None:
    entries = tuple(vector_entry(f"n{i}", energy=i / 7) for i in range(5))
    total = copy_with(with_vector(result(NETWORK), *entries), {"vector_counted": counted})
    with Store.open(None) as store:
        with store.start_run(info(NETWORK)) as run:
            run.finish(total)
        with store.start_run(info(NETWORK)) as other:
            other.finish(result(NETWORK))
        (row,) = store.query("SELECT * FROM totals WHERE run = ?", (run.id,)).rows()
        rows = store.query("SELECT * FROM vector_results ORDER BY position").rows()
    names = ("energy", "latency", "edp", "utilization", "vector_energy", "vector_latency")
    assert [row[name] for name in names] == [getattr(total, name) for name in names]
    assert row["vector_counted"] is counted
    assert [x["node"] for x in rows] == ["n0", "n1", "n2", "n3", "n4"]
    for found, entry in zip(rows, entries, strict=True):
        expected = entry.model_dump() | {"energy": entry.energy, "latency": entry.latency}
        assert {name: found[name] for name in expected} == expected


def test_evaluations_spell_out_the_mapping(store: Store) -> None:
    rows = store.query("SELECT * FROM evaluations ORDER BY number").rows()
    recorded = batch(spatial_problem(layer("one"), accelerator()), 20)
    assert len(rows) == 20
    for i, row in enumerate(rows):
        shown = {"order": row["ordering"], "cuts": row["cuts"]}
        mapping = TemporalMapping.model_validate(shown, strict=False)
        assert mapping == recorded.mappings.row(i)
        assert row["energy"] == recorded.energy[i]
        assert row["latency"] == row["latency2"] == recorded.latency2[i]
        assert row["utilization"] == recorded.ideal_cycles / recorded.latency2[i]
        assert (row["layer"], row["spatial_mapping"]) == ("one", "D1: K 2")


def test_orderings_can_be_unnested(store: Store) -> None:
    answer = store.query(
        "SELECT loop.dimension AS dimension, count(*) AS n FROM "
        "(SELECT unnest(ordering) AS loop FROM evaluations) GROUP BY ALL ORDER BY ALL"
    )
    assert answer.rows() == [
        {"dimension": "B", "n": 40},
        {"dimension": "C", "n": 20},
        {"dimension": "K", "n": 20},
    ]


def test_parameters_stand_for_question_marks(store: Store) -> None:
    sql = "SELECT layer FROM best WHERE layer = ? AND energy < ?"
    assert store.query(sql, ("two", 1e3)).rows() == [{"layer": "two"}]
    assert len(store.query(sql, ("two' OR 'a' = 'a", 1e3))) == 0


def test_names_that_look_like_sql_are_only_names() -> None:
    nasty = network(layer(NASTY), name=NASTY, machine=accelerator(NASTY))
    with Store.open(None) as store:
        with store.start_run(info(nasty, command=NASTY)) as run:
            record(run, batch(spatial_problem(*(layer(NASTY), nasty.accelerator)), 3))
            run.finish(result(nasty))
        (run_record,) = store.runs()
        names = (run_record.command, run_record.workload, run_record.accelerator)
        assert names == (NASTY, NASTY, NASTY)
        assert store.best(run.id) == result(nasty)
        (back,) = store.evaluations(run.id, NASTY)
        assert (len(back), back.mappings.problem.layer.name) == (3, NASTY)
        assert store.query("SELECT layer FROM best").rows() == [{"layer": NASTY}]
        (run_record,) = store.runs()
        assert run_record.command == NASTY


@pytest.mark.parametrize(
    ("sql", "message"),
    [
        ("SELEC 1", "syntax error"),
        ("SELECT energie FROM best", 'column "energie" not found'),
        ("SELECT * FROM bets", "bets does not exist"),
        ("SELECT layer FROM best WHERE layer = ?", "parameter"),
        ("", "found no statement in ''; expected SQL"),
        ("-- nothing", "found no statement"),
        ("SELECT * FROM sql", "sql does not exist"),  # not the Python variable of that name
        ("SELECT error('broken') FROM best", "broken"),  # fails while it runs
    ],
)
def test_mistakes_in_a_query_are_told(store: Store, sql: str, message: str) -> None:
    with pytest.raises(StoreError, match=message):
        store.query(sql)
    assert store.query("SELECT 1 AS x").rows() == [{"x": 1}]


def test_a_statement_without_rows_gives_an_empty_table() -> None:
    with Store.open(None) as store:
        assert len(store.query("CREATE TEMP TABLE mine (x INTEGER)")) == 0
        assert len(store.query("SELECT * FROM mine")) == 0


def test_a_python_variable_is_not_a_table(store: Store) -> None:
    numbers = pa.table({"x": [1, 2]})
    assert numbers.num_rows == 2
    with pytest.raises(StoreError, match="numbers does not exist"):
        store.query("SELECT * FROM numbers")
