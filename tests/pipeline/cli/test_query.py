"""``nestmap query``: answers as a table, CSV and JSON."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from nestmap.store import Store
from tests.pipeline.cli.inputs import run


@pytest.fixture(autouse=True)
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty store in the current folder."""
    monkeypatch.chdir(tmp_path)
    Store.open(Path("nestmap.duckdb")).close()


def test_table() -> None:
    ended = run("query", "SELECT 'a' AS name, 12 AS n UNION ALL SELECT 'long', NULL ORDER BY name")
    assert ended.code == 0
    assert ended.out.splitlines() == [
        "name   n",
        "--------",
        "a     12",
        "long",
        "(2 rows)",
    ]


def test_csv() -> None:
    sql = "SELECT 'a,\"b' AS t, [1, 2] AS l, NULL AS n, 0.5::DOUBLE AS x, true AS y"
    lines = run("query", sql, "--format", "csv").out.splitlines()
    assert list(csv.reader(lines)) == [
        ["t", "l", "n", "x", "y"],
        ['a,"b', "[1, 2]", "", "0.5", "true"],
    ]


def test_json() -> None:
    sql = "SELECT sum(i) AS s, i AS i, i AS i, {'k': [i]} AS d FROM range(2) t(i) GROUP BY i"
    rows = json.loads(run("query", sql + " ORDER BY i", "--format", "json").out)
    assert rows == [
        {"s": 0, "i": 0, "i_2": 0, "d": {"k": [0]}},
        {"s": 1, "i": 1, "i_2": 1, "d": {"k": [1]}},
    ]


def test_of_no_rows_the_columns_are_shown() -> None:
    assert "run" in run("query", "SELECT * FROM totals").out
    assert json.loads(run("query", "SELECT * FROM totals", "--format", "json").out) == []
    lines = run("query", "SELECT run FROM totals", "--format", "csv").out.splitlines()
    assert lines == ["run"]


def test_another_store(tmp_path: Path) -> None:
    other = tmp_path / "other.duckdb"
    Store.open(other).close()
    (tmp_path / "nestmap.duckdb").unlink()
    assert run("query", "SHOW TABLES", "--store", str(other)).code == 0


def test_the_store_is_not_changed() -> None:
    before = Path("nestmap.duckdb").read_bytes()
    ended = run("query", "CREATE TABLE mine (i INTEGER)")
    assert (ended.code, ended.out) == (2, "")
    assert "read-only" in ended.err
    assert Path("nestmap.duckdb").read_bytes() == before
