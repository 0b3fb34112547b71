"""Answers of the store as text: every DuckDB type, many rows, equal column names."""

from __future__ import annotations

import csv
import json
from io import StringIO

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nestmap.pipeline.render.text.query_result import (
    MOST_ROWS,
    answer_csv,
    answer_json,
    answer_table,
)
from nestmap.store import Relation, Store

VALUES = {
    "1::HUGEINT": 1,
    "1.5::DECIMAL(5, 2)": 1.5,
    "2::DECIMAL(5, 2)": 2,
    "'NaN'::DOUBLE": "nan",
    "DATE '2026-01-02'": "2026-01-02",
    "TIMESTAMP '2026-01-02 03:04:05'": "2026-01-02T03:04:05",
    "TIME '03:04:05'": "03:04:05",
    "'\\x01\\xFF'::BLOB": "01ff",
    "'00000000-0000-0000-0000-000000000001'::UUID": "00000000-0000-0000-0000-000000000001",
    "{'a': [1, NULL]}": {"a": [1, None]},
    "MAP {'k': 1}": [["k", 1]],
    "NULL": None,
    "true": True,
}


@pytest.fixture(scope="module")
def store() -> Store:
    """A store in memory."""
    return Store.open(None)


@pytest.mark.parametrize(("sql", "value"), VALUES.items(), ids=VALUES)
def test_values_as_json(store: Store, sql: str, value: object) -> None:
    (row,) = json.loads("".join(answer_json(store.query(f"SELECT {sql} AS x"))))
    assert row == {"x": value}


TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\0"))  # DuckDB's texts


@settings(deadline=None)
@given(rows=st.lists(st.tuples(st.integers(-(2**63), 2**63 - 1), TEXTS), max_size=5))
def test_csv_and_json_give_back_what_was_asked(rows: list[tuple[int, str]]) -> None:
    numbers, texts = ([row[i] for row in rows] for i in range(2))
    table = pa.table({"n": pa.array(numbers, pa.int64()), "t": pa.array(texts, pa.string())})
    answer = Relation(table)
    assert [(x["n"], x["t"]) for x in json.loads("\n".join(answer_json(answer)))] == rows
    text = "".join(line + "\n" for line in answer_csv(answer))
    _, *read = csv.reader(StringIO(text, newline=""))
    assert [(int(n), t) for n, t in read] == rows


def test_a_table_shows_the_first_rows_and_counts_all(store: Store) -> None:
    lines = answer_table(store.query(f"SELECT * FROM range({MOST_ROWS + 5}) t(i)"))
    assert len(lines) == MOST_ROWS + 3
    assert lines[-1].text == "(1,005 rows; the first 1,000 are shown, --format csv gives all)"


def test_nested_values_in_a_table(store: Store) -> None:
    sql = "SELECT [{'d': 'K', 'n': 2}, {'d': 'C', 'n': 3}] AS o, 0.1 + 0.2 AS x, 'a\nb' AS t"
    assert answer_table(store.query(sql))[2].text == "[K 2, C 3]  0.3  a\\nb"


def test_a_statement_without_an_answer() -> None:
    (line,) = answer_table(Relation(pa.table({})))
    assert line.text == "The statement gives no rows."
    assert "".join(answer_json(Relation(pa.table({})))) == "[]"
