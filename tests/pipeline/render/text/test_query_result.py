"""Answers of the store as text: every DuckDB type, many rows, equal column names."""

import csv
import json
from collections.abc import Callable, Iterator
from io import StringIO

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nestmap.pipeline.render.text.query_result import (
    MOST_ROWS,
    answer_csv,
    answer_json,
    answer_latex,
    answer_markdown,
    answer_spreadsheet,
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


FORMULAS = (
    "=1+1", "+1", "-1", "@SUM(1)", " =1", "\t=1", "\r=1", "\n-1", "=cmd|' /C calc'!A0",
    "\uff1d1", "\ufeff=1",
)  # fmt: skip


@pytest.mark.parametrize("text", FORMULAS)
def test_spreadsheets_run_no_formula(text: str) -> None:
    answer = Relation(pa.table({text: [text, "layer"], "n": [-1.5, 2.0], "list": [[-1], [2]]}))
    whole = "".join(line + "\n" for line in answer_spreadsheet(answer))
    assert whole.startswith("\ufeff")
    header, *rows = csv.reader(StringIO(whole.removeprefix("\ufeff"), newline=""))
    assert header == ["'" + text, "n", "list"]
    assert rows == [["'" + text, "-1.5", "[-1]"], ["layer", "2.0", "[2]"]]
    plain = "".join(line + "\n" for line in answer_csv(answer))
    assert list(csv.reader(StringIO(plain, newline="")))[1][0] == text


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


def test_tables_round_numbers_and_shorten_ids_but_files_do_not(store: Store) -> None:
    run = "18f9737a-03c6-4072-8caa-c8dfdcfdf69a"
    sql = (
        f"SELECT '{run}'::UUID AS run, 5598921732.656 ::DOUBLE AS energy, 15978 AS n, 2/3 AS share"
    )
    answer = store.query(sql)
    assert answer_table(answer)[2].text == "18f9737a  5.5989e9  15978  0.66667"
    (row,) = json.loads("".join(answer_json(answer)))
    assert row == {"run": run, "energy": 5598921732.656, "n": 15978, "share": 2 / 3}
    assert list(answer_csv(answer))[1] == f"{run},5598921732.656,15978,{2 / 3}"


def test_markdown(store: Store) -> None:
    sql = "SELECT 'a|b' AS layer, 0.5::DOUBLE AS share UNION ALL SELECT '<c>', NULL ORDER BY layer"
    assert list(answer_markdown(store.query(sql))) == [
        "| layer | share |",
        "| --- | ---: |",
        "| &lt;c&gt; |  |",
        r"| a\|b | 0.5 |",
    ]


def test_latex(store: Store) -> None:
    sql = r"SELECT 'rf_1 & 50% \ [x]' AS memory, 1e7::DOUBLE AS bytes"
    assert list(answer_latex(store.query(sql))) == [
        r"\begin{tabular}{lr}",
        r"\hline",
        r"{memory} & {bytes} \\",
        r"\hline",
        r"{rf\_1 \& 50\% \textbackslash{} [x]} & {10e6} \\",
        r"\hline",
        r"\end{tabular}",
    ]


@pytest.mark.parametrize("lines", [answer_markdown, answer_latex])
def test_markup_has_every_row(store: Store, lines: Callable[[Relation], Iterator[str]]) -> None:
    answer = store.query(f"SELECT * FROM range({MOST_ROWS + 5}) t(i)")
    assert sum(any(x.isdigit() for x in line) for line in lines(answer)) == MOST_ROWS + 5
