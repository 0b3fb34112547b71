"""Questions in SQL: what is answered, what DuckDB refuses, and what limits end."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from threading import Timer
from typing import Final

import duckdb
import pytest

from nestmap.model import StoreError
from nestmap.store import Store
from nestmap.store.read.question import Answer, QueryLimits, Question
from tests.faults.processes import HOLD, read_line, running
from tests.store.builders import NASTY
from tests.store.filled import fill


def files_in(folder: Path) -> dict[str, bytes]:
    return {str(x): x.read_bytes() for x in folder.rglob("*") if x.is_file()}


def ask(path: Path, sql: str, limits: QueryLimits = QueryLimits()) -> Answer:  # noqa: B008
    return Question(sql, limits).ask(path)


@pytest.fixture(scope="module", name="path")
def _path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("asked") / "store.duckdb"
    with Store.open(path) as store:
        fill(store, "fc")
        fill(store, NASTY)
    (path.parent / "secret.csv").write_text("word\nsesame\n")
    return path


@pytest.fixture(autouse=True)
def _nothing_changes(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Whatever is asked, no byte changes and no file comes to be, here or beside the store."""
    monkeypatch.chdir(tmp_path)
    before = files_in(path.parent)
    yield
    assert files_in(path.parent) == before
    assert files_in(tmp_path) == {}


ASKED: Final = {
    "SELECT count(*) AS n FROM runs": [{"n": 2}],
    "select 1 AS x -- a remark": [{"x": 1}],
    "SELECT 1 AS x;": [{"x": 1}],
    "SELECT '\ud800' AS x": [{"x": "?"}],
    "WITH RECURSIVE r(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM r WHERE i < 9) "
    "SELECT max(i) AS x FROM r": [{"x": 9}],
    "PIVOT runs ON status IN ('done') USING count(*) GROUP BY pareto": [
        {"pareto": False, "done": 2}
    ],
    "SELECT count(*) = 2 AS x FROM history()": [{"x": True}],
    "SELECT 1.5::DECIMAL(9, 2)::VARCHAR AS d, [1] AS l, {'a': NULL} AS s, 'é' AS t": [
        {"d": "1.50", "l": [1], "s": {"a": None}, "t": "é"}
    ],
}


@pytest.mark.parametrize("sql", ASKED)
def test_questions_are_answered(path: Path, sql: str) -> None:
    found = ask(path, sql)
    assert (found.relation.rows(), found.is_cut) == (ASKED[sql], False)


REFUSED: Final = {
    "reads": "SELECT * FROM read_text('{0}/secret.csv')",
    "reads a name": "SELECT * FROM '{0}/secret.csv'",
    "reads an address": "SELECT * FROM 'http://127.0.0.1:9/x.parquet'",
    "reads within SQL in a text": "SELECT * FROM query('FROM read_text(''{0}/secret.csv'')')",
    "lists": "SELECT * FROM glob('{0}/*')",
    "writes a file": "COPY runs TO '{0}/runs.csv'",
    "writes into the store": "DELETE FROM runs",
    "writes in a WITH": "WITH x AS (INSERT INTO runs FROM runs RETURNING *) FROM x",
    "makes a table": "CREATE TABLE mine (i INTEGER)",
    "drops": "DROP TABLE runs",
    "attaches": "ATTACH '{0}/other.duckdb' AS other",
    "exports": "EXPORT DATABASE '{0}/folder'",
    "loads": "LOAD httpfs",
    "installs": "INSTALL httpfs",
    "unlocks": "SET enable_external_access = true",
    "unlocks all": "SET lock_configuration = false",
    "spills": "SET temp_directory = '{0}'",
    "is given more": "SET memory_limit = '64GB'",
    "two statements": "SELECT 1; SELECT 2",
    "nothing": "-- nothing",
    "a table that there is not": "FROM nothing",
}


@pytest.mark.parametrize("sql", REFUSED.values(), ids=REFUSED)
def test_all_else_is_refused(path: Path, sql: str) -> None:
    with pytest.raises(StoreError, match=r"query: ") as told:
        ask(path, sql.replace("{0}", str(path.parent)))
    assert "sesame" not in str(told.value)


def test_what_is_wrong_is_said_with_the_place(path: Path) -> None:
    with pytest.raises(StoreError, match=r"query: Parser Error.*\n\nLINE 1: SELECT \* FORM runs"):
        ask(path, "SELECT * FORM runs")
    with pytest.raises(StoreError, match=r'query: Binder Error.*"hosts"'):
        ask(path, "SELECT hosts FROM runs")


ENDLESS: Final = {
    "rows": "SELECT count(*) FROM range(1000000000000)",
    "a product": "SELECT sum(a.range * b.range) FROM range(100000000) a, range(1000000) b",
    "a recursion": "WITH RECURSIVE r(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM r) "
    "SELECT count(*) FROM r",
}


@pytest.mark.parametrize("sql", ENDLESS.values(), ids=ENDLESS)
def test_what_never_ends_is_ended(path: Path, sql: str) -> None:
    with pytest.raises(StoreError, match=r"found no answer within 0\.3 s; expected a faster"):
        ask(path, sql, QueryLimits(seconds=0.3))


def test_what_takes_too_much_memory_is_ended(path: Path) -> None:
    sql = "SELECT range AS x, hash(range) AS y FROM range(300000000) ORDER BY y, x"
    with pytest.raises(StoreError, match=r"found no answer within 512 MB of memory; expected"):
        ask(path, sql, QueryLimits(seconds=60))


def test_pages_and_questions_share_a_limit_of_memory(path: Path) -> None:
    sql = "SELECT current_setting('memory_limit') AS m, current_setting('temp_directory') AS t"
    with Store.open_read_only(path, memory=512) as store:
        (row,) = store.query(sql)
        assert ask(path, sql).relation.rows() == [row] == [{"m": "488.2 MiB", "t": ""}]


def test_long_and_wide_answers_are_cut(path: Path) -> None:
    found = ask(path, ENDLESS["rows"].replace("count(*)", "range"), QueryLimits(rows=5))
    assert found.is_cut
    assert found.relation.rows() == [{"range": i} for i in range(5)]
    whole = ask(path, "FROM range(5)", QueryLimits(rows=5))
    assert (whole.is_cut, len(whole.relation)) == (False, 5)
    wide = "SELECT repeat('x', 1000) AS x FROM range(10000)"
    found = ask(path, wide, QueryLimits(rows=10_000, size=100_000))
    assert found.is_cut
    assert 0 < len(found.relation) <= 100


def test_a_question_can_be_cancelled(path: Path) -> None:
    question = Question(ENDLESS["rows"], QueryLimits(seconds=60))
    timer = Timer(0.3, question.cancel)
    timer.start()
    with pytest.raises(StoreError, match="it was cancelled"):
        question.ask(path)
    timer.join()
    with pytest.raises(StoreError, match="it was cancelled"):
        question.ask(path)


def test_the_store_is_free_between_questions(path: Path) -> None:
    ask(path, "SELECT 1")
    with closing(duckdb.connect(path, config={"access_mode": "read_write"})):
        pass


def test_a_store_that_somebody_holds_is_said_to_be(path: Path) -> None:
    with running(HOLD, str(path)) as holder:
        assert read_line(holder) == "open"
        with pytest.raises(StoreError, match="another process has it open"):
            Question("SELECT 1", QueryLimits()).ask(path, patience=0.1)


def test_a_file_that_is_no_store(path: Path) -> None:
    for name, told in (("secret.csv", "expected"), ("nothing", "no such file")):
        with pytest.raises(StoreError, match=rf"{name}: .*{told}"):
            ask(path.parent / name, "SELECT 1")
