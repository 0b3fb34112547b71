"""Files that older versions wrote: brought up to date with all that is in them."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from nestmap.model import StoreError
from nestmap.model.base import replaced
from nestmap.store import RunRecord, Store
from nestmap.store.migrate import migrations
from tests.store.builders import (
    Rows,
    accelerator,
    batch,
    info,
    layer,
    network,
    result,
    rows_of,
    spatial_problem,
    with_vector,
)

OTHER = accelerator("other")
NETWORKS = (network(layer("one"), layer("two", 24)), network(layer("one"), machine=OTHER))
TABLES = (
    "accelerators",
    "evaluation_rows",
    "infeasible",
    "layers",
    "results",
    "runs",
    "searches",
    "spatial_mappings",
    "workload_layers",
    "workloads",
)
CREATE_VERSION = (
    "CREATE TABLE schema_version "
    "(version INTEGER PRIMARY KEY, name VARCHAR NOT NULL, applied TIMESTAMP NOT NULL)"
)


def fill(store: Store) -> None:
    """A run on each machine, each layer under two spatial mappings."""
    for of in NETWORKS:
        with store.start_run(info(of)) as run:
            for i, one in enumerate(of.workload.layers):
                for unrolled in (1, 4):
                    problem = spatial_problem(one, of.accelerator, unrolled)
                    run.record(batch(problem, 7, seed=10 * i + unrolled))
            run.finish(result(of))


def everything(store: Store) -> list[tuple[RunRecord, object, list[Rows]]]:
    """All that a store gives back."""
    return [
        (
            run,
            store.results(run.id),
            [
                rows_of(found)
                for name in [x.cme.layer for x in store.results(run.id).layers]
                for found in store.evaluations(run.id, name)
            ],
        )
        for run in store.runs()
    ]


def write_old(path: Path, current: Path, version: int = 1) -> None:
    """What is in a store of today, in a store as an older version made it."""
    with duckdb.connect(path) as connection:
        connection.execute(CREATE_VERSION)
        for step in migrations()[:version]:
            connection.execute(step.sql)
            applied = [step.version, step.name]
            connection.execute(
                "INSERT INTO schema_version VALUES (?, ?, now()::TIMESTAMP)", applied
            )
        connection.execute(f"ATTACH '{current}' AS current (READ_ONLY)")
        for table in TABLES:
            described = connection.execute(f"DESCRIBE {table}").fetchall()
            columns = ", ".join(column[0] for column in described)
            connection.execute(f"INSERT INTO {table} SELECT {columns} FROM current.{table}")
        connection.execute("CREATE OR REPLACE SEQUENCE search_ids START 100")


@pytest.fixture(name="old")
def _old(tmp_path: Path) -> Path:
    """A store of the first version."""
    current = tmp_path / "current.duckdb"
    with Store.open(current) as store:
        fill(store)
    write_old(tmp_path / "old.duckdb", current)
    return tmp_path / "old.duckdb"


def test_a_store_of_the_first_version_has_no_accelerators_of_searches(old: Path) -> None:
    with duckdb.connect(old) as connection:
        columns = [row[0] for row in connection.execute("DESCRIBE searches").fetchall()]
        assert "accelerator" not in columns
        assert connection.execute("SELECT count(*) FROM searches").fetchall() == [(6,)]
    with pytest.raises(StoreError, match="found schema version 1; expected 3"):
        Store.open_read_only(old)


def test_each_search_gets_the_accelerator_of_its_run(old: Path) -> None:
    with Store.open(old) as store:
        found = store.query(
            "SELECT accelerators.name, count(*) AS searches FROM searches "
            "JOIN accelerators ON accelerators.hash = searches.accelerator "
            "GROUP BY ALL ORDER BY ALL"
        ).to_pylist()
        pruned = store.query("SELECT DISTINCT pruned FROM results").to_pylist()
        applied = store.query("SELECT version FROM schema_version ORDER BY version").to_pylist()
    assert found == [{"name": "machine", "searches": 4}, {"name": "other", "searches": 2}]
    assert pruned == [{"pruned": 0}]
    assert [row["version"] for row in applied] == [1, 2, 3]


def test_all_that_was_in_it_is_read_back(old: Path) -> None:
    with Store.open_read_only(old.parent / "current.duckdb") as store:
        expected = everything(store)
    with Store.open(old) as store:
        assert everything(store) == expected
        assert {x.problem.accelerator for x in expected[1][2]} == {OTHER}


def test_new_runs_stand_beside_the_old_ones(old: Path) -> None:
    reduced = replaced(OTHER, {"memories": OTHER.memories[1:]})
    problem = spatial_problem(NETWORKS[1].workload.layers[0], reduced)
    with Store.open(old) as store:
        before = everything(store)
        with store.start_run(info(NETWORKS[1])) as run:
            run.record(batch(problem, 3))
            run.finish(result(NETWORKS[1]))
        (found,) = store.evaluations(run.id, "one")
        assert found.mappings.problem == problem
        assert everything(store)[: len(before)] == before


@pytest.mark.parametrize("version", [1, 2])
def test_totals_of_older_runs_stay_and_new_runs_may_count_vector_operators(
    version: int, tmp_path: Path
) -> None:
    current, path = tmp_path / "current.duckdb", tmp_path / "old.duckdb"
    with Store.open(current) as store:
        fill(store)
    write_old(path, current, version)
    with duckdb.connect(path) as connection:
        before = connection.execute("SELECT * FROM totals ORDER BY started").fetchall()
    counted = replaced(with_vector(result(NETWORKS[0])), {"vector_counted": True})
    with Store.open(path) as store:
        after = store.query("SELECT * FROM totals ORDER BY started").to_pylist()
        assert [tuple(row.values())[1:-3] for row in after] == [row[1:] for row in before]
        added = [(x["vector_energy"], x["vector_latency"], x["vector_counted"]) for x in after]
        assert added == [(0, 0, False)] * 2
        with store.start_run(info(NETWORKS[0])) as run:
            run.finish(counted)
        assert store.results(run.id) == counted
