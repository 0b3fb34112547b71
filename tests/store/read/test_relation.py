"""Answers: every DuckDB type as rows, models, data frames; any shape; mistakes told."""

import sys
from collections.abc import Iterator
from datetime import datetime
from decimal import Decimal
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from uuid import UUID

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import Field

from nestmap.model import Frozen, Loop, Objective, StoreError
from nestmap.store import Relation, Store

ID = "00000000-0000-0000-0000-000000000001"


class Found(Frozen, frozen=True):
    """A model with all that strict mode refuses from a database."""

    id: UUID
    started: datetime
    objective: Objective
    loops: tuple[Loop, ...]
    macs: int
    note: str | None = None


FOUND = f"""
SELECT '{ID}'::UUID AS id, TIMESTAMP '2026-01-02 03:04:05' AS started,
       'edp'::objective AS objective, [{{'dimension': 'K', 'size': 2}}] AS loops, sum(n) AS macs
FROM (VALUES (1), (2)) AS t(n)
"""


@pytest.fixture(name="store", scope="module")
def _store() -> Iterator[Store]:
    with Store.open(None) as store:
        yield store


@pytest.mark.parametrize(
    ("sql", "value"),
    [
        ("1::HUGEINT", 1),
        ("-170141183460469231731687303715884105727::HUGEINT", -(2**127) + 1),
        ("sum(2::BIGINT)", 2),
        ("{'a': [1::HUGEINT], 'b': NULL}", {"a": [1], "b": None}),
        ("MAP {'k': 2::HUGEINT}", [("k", 2)]),
        ("1.50::DECIMAL(5, 2)", Decimal("1.50")),
        ("2.00::DECIMAL(5, 2)", Decimal("2.00")),
        ("'edp'::objective", "edp"),
        (f"'{ID}'::UUID", ID),
        ("TIMESTAMP '2026-01-02 03:04:05'", datetime(2026, 1, 2, 3, 4, 5)),
        ("NULL", None),
        ("0.1::DOUBLE", 0.1),
        ("'\\x01'::BLOB", b"\x01"),
    ],
)
def test_values(store: Store, sql: str, value: object) -> None:
    (row,) = store.query(f"SELECT {sql} AS x")
    assert row == {"x": value}
    assert type(row["x"]) is type(value)


def test_rows_as_models(store: Store) -> None:
    (found,) = store.query(FOUND).models(Found)
    assert found == Found(
        id=UUID(ID),
        started=datetime(2026, 1, 2, 3, 4, 5),
        objective=Objective.EDP,
        loops=(Loop(dimension="K", size=2),),
        macs=3,
    )


@pytest.mark.parametrize("rows", ["", " LIMIT 0"])
@pytest.mark.parametrize(
    ("sql", "told"),
    [
        ("SELECT 1 AS energie", "column dimension: found only energie; expected what Loop needs"),
        (
            "SELECT 'K' AS dimension, 2 AS size, 3 AS sise",
            "column sise: found in the answer; expected only fields of Loop: dimension, size",
        ),
    ],
)
def test_columns_that_are_not_fields_are_told(store: Store, sql: str, rows: str, told: str) -> None:
    with pytest.raises(StoreError, match=told):
        store.query(sql + rows).models(Loop)


@pytest.mark.parametrize(
    ("sql", "told"),
    [
        ("'K' AS dimension, 'two' AS size", "column size, row 1: found 'two'; expected .*integer"),
        ("'K' AS dimension, NULL AS size", "column size, row 1: found None; expected "),
        ("'K' AS dimension, 0.5 AS size", r"column size, row 1: found Decimal\('0.5'\)"),
    ],
)
def test_values_that_a_field_cannot_hold_are_told(store: Store, sql: str, told: str) -> None:
    with pytest.raises(StoreError, match=told):
        store.query(f"SELECT {sql}").models(Loop)


def test_the_place_in_a_nested_value_is_told(store: Store) -> None:
    sql = FOUND.replace("'size': 2", "'size': -2")
    with pytest.raises(StoreError, match=r"column loops\.0\.size, row 1: found -2; expected "):
        store.query(sql).models(Found)


def test_fields_may_have_other_names(store: Store) -> None:
    class Named(Frozen, frozen=True):
        energy: float = Field(alias="energy (pJ)")

    (found,) = store.query('SELECT 1.5 AS "energy (pJ)"').models(Named)
    assert found.energy == 1.5
    with pytest.raises(StoreError, match=r"column energy \(pJ\): found only energy"):
        store.query("SELECT 1.5 AS energy").models(Named)


def test_no_rows(store: Store) -> None:
    answer = store.query(FOUND + " HAVING false")
    assert (len(answer), answer.rows(), answer.models(Found)) == (0, [], ())
    assert answer.columns == ("id", "started", "objective", "loops", "macs")
    assert list(answer.pandas().columns) == list(answer.columns)
    assert repr(answer).splitlines()[-1] == "(0 rows)"


def test_no_columns() -> None:
    answer = Relation(pa.table({}))
    assert (len(answer), answer.rows(), answer.columns) == (0, [], ())
    assert repr(answer) == "(no columns)"


def test_columns_that_share_a_name(store: Store) -> None:
    answer = store.query("SELECT 1 AS n, 2 AS n, 3 AS n_2, 4 AS N")
    assert answer.columns == ("n", "n_2", "n_2_2", "N")
    assert answer.rows() == [{"n": 1, "n_2": 2, "n_2_2": 3, "N": 4}]
    assert answer.arrow().column_names == list(answer.columns)
    assert list(answer.pandas().columns) == list(answer.columns)


def test_pandas(store: Store) -> None:
    frame = store.query("SELECT sum(n) AS s, [1] AS l FROM range(4) t(n)").pandas()
    assert frame["s"].dtype == "float64"
    assert frame["s"].tolist() == [6.0]


def test_polars(store: Store) -> None:
    pytest.importorskip("polars")
    frame = store.query("SELECT sum(n) AS s, 1 AS x, 2 AS x FROM range(4) t(n)").polars()
    assert getattr(frame, "columns") == ["s", "x", "x_2"]  # noqa: B009


@pytest.mark.parametrize("package", ["pandas", "polars"])
def test_a_package_that_is_missing_is_named(
    store: Store, package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def without(name: str) -> ModuleSpec | None:
        return None if name == package else find_spec(name)

    monkeypatch.setattr("nestmap.store.read.relation.find_spec", without)
    with pytest.raises(StoreError, match=f"{package} is not installed; .* pip install {package}"):
        getattr(store.query("SELECT 1 AS x"), package)()


def test_asking_needs_no_pandas(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [x for x in sys.modules if x.split(".")[0] in ("pandas", "polars")]:
        monkeypatch.delitem(sys.modules, name)
    store.query(FOUND).rows()
    store.query(FOUND).models(Found)
    assert not {"pandas", "polars"} & set(sys.modules)


def test_shown_as_a_table(store: Store) -> None:
    answer = store.query(
        "SELECT 'a' || i AS name, i * 1.5e3 AS energy, [{'d': 'K', 'n': i}] AS loops, "
        "e'x\\ny' || repeat('z', 60) AS t FROM range(12) t(i) ORDER BY i"
    )
    lines = repr(answer).splitlines()
    assert lines[0].split() == ["name", "energy", "loops", "t"]
    assert lines[2] == "a1      1500  [K 1]  x\\ny" + "z" * 33 + "..."
    assert len(lines) == 12
    assert lines[-1] == "(12 rows; the first 10 are shown)"


@settings(deadline=None)
@given(
    st.lists(
        st.fixed_dictionaries({"n": st.none() | st.integers(-(2**63), 2**63 - 1), "t": st.text()}),
        max_size=5,
    ),
    st.integers(1, 3),
)
def test_rows_are_what_went_in(rows: list[dict[str, int | str | None]], copies: int) -> None:
    kinds: dict[str, pa.DataType] = {"n": pa.int64(), "t": pa.string()}
    schema = pa.schema(kinds)
    table = pa.concat_tables([pa.Table.from_pylist(rows, schema)] * copies)
    answer = Relation(table)
    assert answer.rows() == rows * copies
    assert len(answer) == len(list(answer)) == len(rows) * copies
    assert repr(answer).count("\n") >= min(len(answer), 10)
