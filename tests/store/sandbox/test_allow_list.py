"""Questions of people one does not trust: what may be asked, and what nothing can do."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import closing, suppress
from pathlib import Path
from threading import Timer
from typing import Final

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nestmap.model import StoreError
from nestmap.store import Store
from nestmap.store.connection.connect import connect_read_only_unrestricted
from nestmap.store.maintenance.parquet_reader import open_parts
from nestmap.store.sandbox.allow_list import (
    ALLOWED,
    QueryLimits,
    check_query,
    lock_connection,
    run_query,
)
from nestmap.store.sandbox.process import QuerySandbox, SandboxQuery, SandboxResult
from tests.faults.processes import HOLD, read_line, running
from tests.store.builders import NASTY
from tests.store.filled import fill
from tests.sweeps import some_of

Contents = dict[str, bytes]


def contents(folder: Path) -> Contents:
    """All files below a folder."""
    return {str(x): x.read_bytes() for x in folder.rglob("*") if x.is_file()}


@pytest.fixture(scope="module", name="path")
def _path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("sandbox") / "store.duckdb"
    with Store.open(path) as store:
        fill(store, "fc")
        fill(store, NASTY)
    (path.parent / "secret.csv").write_text("word\nsesame\n")
    return path


@pytest.fixture(autouse=True)
def _nothing_changes(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Generator[None]:
    """Whatever is asked, no byte changes and no file comes to be, here or beside the store."""
    monkeypatch.chdir(tmp_path)
    before = contents(path.parent)
    yield
    assert contents(path.parent) == before
    assert contents(tmp_path) == {}


@pytest.fixture(scope="module", name="warden")
def _warden(path: Path) -> Iterator[QuerySandbox]:
    with closing(QuerySandbox(path)) as warden:
        yield warden


ASKED: Final = {
    "SELECT count(*) FROM runs": [(2,)],
    "select 1 -- a remark": [(1,)],
    "SELECT 1;": [(1,)],
    "FROM (VALUES (1), (2)) AS t(x) SELECT sum(x)": [(3,)],
    "TABLE store_schema ORDER BY version LIMIT 1": None,
    "WITH RECURSIVE r(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM r WHERE i < 9) "
    "SELECT max(i) FROM r": [(9,)],
    "WITH x AS MATERIALIZED (SELECT 2 AS i) SELECT i FROM x UNION SELECT 2": [(2,)],
    "SELECT [i + 1 FOR i IN range(3)]": [([1, 2, 3],)],
    "SELECT count(*) FROM generate_series(1, 5)": [(5,)],
    "SELECT name FROM workloads ORDER BY name LIMIT 1": None,
    "PIVOT runs ON status IN ('done') USING count(*) GROUP BY pareto": [(False, 2)],
    "SHOW TABLES": None,
    "DESCRIBE runs": None,
    "SUMMARIZE runs": None,
    "SELECT table_name FROM information_schema.tables LIMIT 1": None,
    "SELECT count(*) > 10 FROM duckdb_columns()": [(True,)],
    "SELECT count(*) = 2 FROM history()": [(True,)],
    "SELECT j.key FROM json_each('{\"a\": 1}') AS j": [("a",)],
    "SELECT 'read_csv(''/etc/passwd''); DROP TABLE runs' AS t": [
        ("read_csv('/etc/passwd'); DROP TABLE runs",)
    ],
    "SELECT 1 AS getenv": [(1,)],
}


@pytest.mark.parametrize("sql", ASKED)
def test_questions_are_answered(path: Path, sql: str) -> None:
    found = run_query(path, sql, QueryLimits())
    assert not found.is_cut
    rows = [tuple(row.values()) for row in found.table.to_pylist()]
    assert rows
    if ASKED[sql] is not None:
        assert rows == ASKED[sql]


REFUSED: Final = {
    "INSERT": "INSERT INTO runs SELECT * FROM runs",
    "UPDATE": "UPDATE runs SET host = 'x'",
    "DELETE": "DELETE FROM runs",
    "TRUNCATE": "TRUNCATE runs",
    "MERGE": "MERGE INTO runs USING runs AS r ON true WHEN MATCHED THEN DELETE",
    "CREATE TABLE": "CREATE TABLE mine (i INTEGER)",
    "CREATE TEMP TABLE": "CREATE TEMP TABLE mine AS SELECT 1",
    "CREATE TEMP VIEW": "CREATE TEMP VIEW runs2 AS FROM runs",
    "CREATE TEMP MACRO": "CREATE TEMP MACRO f(x) AS x",
    "CREATE SCHEMA": "CREATE SCHEMA s",
    "CREATE SEQUENCE": "CREATE TEMP SEQUENCE s",
    "CREATE TYPE": "CREATE TYPE t AS ENUM ('a')",
    "CREATE SECRET": "CREATE SECRET s (TYPE s3)",
    "CREATE INDEX": "CREATE INDEX i ON runs (host)",
    "DROP": "DROP TABLE runs",
    "ALTER": "ALTER TABLE runs ADD COLUMN x INTEGER",
    "COMMENT": "COMMENT ON TABLE runs IS 'x'",
    "ATTACH": "ATTACH 'other.duckdb' AS other",
    "ATTACH memory": "ATTACH ':memory:' AS other",
    "DETACH": "DETACH store",
    "COPY to": "COPY runs TO 'runs.csv'",
    "COPY query to": "COPY (SELECT 1) TO 'one.parquet'",
    "COPY from": "COPY runs FROM 'secret.csv'",
    "COPY database": "COPY FROM DATABASE store TO memory",
    "EXPORT": "EXPORT DATABASE 'folder'",
    "IMPORT": "IMPORT DATABASE 'folder'",
    "INSTALL": "INSTALL httpfs",
    "LOAD": "LOAD httpfs",
    "PRAGMA": "PRAGMA database_list",
    "PRAGMA with arguments": "PRAGMA table_info('runs')",
    "PRAGMA that sets": "PRAGMA threads = 4",
    "SET": "SET threads = 4",
    "SET external access": "SET enable_external_access = true",
    "SET VARIABLE": "SET VARIABLE x = 1",
    "RESET": "RESET threads",
    "CALL": "CALL pragma_version()",
    "USE": "USE memory",
    "CHECKPOINT": "CHECKPOINT",
    "FORCE CHECKPOINT": "FORCE CHECKPOINT",
    "VACUUM": "VACUUM",
    "ANALYZE": "ANALYZE",
    "BEGIN": "BEGIN",
    "COMMIT": "COMMIT",
    "ROLLBACK": "ROLLBACK",
    "PREPARE": "PREPARE p AS SELECT 1",
    "EXECUTE": "EXECUTE p",
    "DEALLOCATE": "DEALLOCATE p",
    "EXPLAIN": "EXPLAIN SELECT 1",
    "EXPLAIN ANALYZE": "EXPLAIN ANALYZE SELECT 1",
    "EXPLAIN of a write": "EXPLAIN ANALYZE DELETE FROM runs",
    "two questions": "SELECT 1; SELECT 2",
    "a question and a write": "SELECT 1; DROP TABLE runs",
    "PIVOT, which makes a type": "PIVOT runs ON status USING count(*)",
    "PIVOT inside": "SELECT * FROM (PIVOT runs ON status USING count(*))",
    "a WITH that inserts": "WITH x AS (INSERT INTO runs FROM runs RETURNING *) FROM x",
    "a WITH that updates": "WITH x AS (UPDATE runs SET host = '' RETURNING *) FROM x",
    "a WITH that deletes": "WITH x AS (DELETE FROM runs RETURNING *) FROM x",
    "a WITH inside": "SELECT (WITH x AS (DELETE FROM runs RETURNING 1 AS i) SELECT i FROM x)",
    "read_csv": "SELECT * FROM read_csv('secret.csv')",
    "read_csv_auto": "SELECT * FROM read_csv_auto('secret.csv')",
    "read_text": "SELECT * FROM read_text('secret.csv')",
    "read_blob": "SELECT * FROM read_blob('secret.csv')",
    "read_json": "SELECT * FROM read_json('secret.csv')",
    "read_parquet": "SELECT * FROM read_parquet('secret.csv')",
    "parquet_scan": "SELECT * FROM parquet_scan('secret.csv')",
    "parquet_metadata": "SELECT * FROM parquet_metadata('secret.csv')",
    "glob": "SELECT * FROM glob('*')",
    "sniff_csv": "SELECT * FROM sniff_csv('secret.csv')",
    "a file's name": "SELECT * FROM 'secret.csv'",
    "a file's name, quoted": 'SELECT * FROM "secret.csv"',
    "an address": "SELECT * FROM 'http://127.0.0.1:9/x.parquet'",
    "a file in a subquery": "SELECT (SELECT count(*) FROM read_text('secret.csv'))",
    "a file in a WITH": "WITH x AS (FROM glob('*')) SELECT * FROM x",
    "a file in a condition": "FROM runs WHERE host IN (SELECT file FROM glob('*'))",
    "a file, qualified": "SELECT * FROM system.main.read_text('secret.csv')",
    "a file, in other letters": "SELECT * FROM READ_Text('secret.csv')",
    "a file, joined": "FROM runs, LATERAL (FROM read_text(host))",
    "a file, described": "DESCRIBE FROM read_csv('secret.csv')",
    "a file, summarized": "SUMMARIZE 'secret.csv'",
    "SQL in a text": "SELECT * FROM query('FROM glob(''*'')')",
    "a table in a text": "SELECT * FROM query_table('runs')",
    "SQL in JSON": "SELECT * FROM json_execute_serialized_sql(json_serialize_sql('SELECT 1'))",
    "getenv": "SELECT getenv('HOME')",
    "getenv as a method": "SELECT 'HOME'.getenv()",
    "settings of a name": "SELECT current_setting('secret_directory')",
    "settings": "SELECT * FROM duckdb_settings()",
    "settings as a view": "SELECT * FROM pg_settings",
    "paths of databases": "SELECT path FROM duckdb_databases()",
    "paths of databases, as a view": "SELECT path FROM DuckDB_databases",
    "databases of SQLite": "SELECT * FROM pragma_database_list",
    "secrets": "SELECT * FROM duckdb_secrets()",
    "extensions": "SELECT * FROM duckdb_extensions()",
    "logs": "SELECT * FROM duckdb_logs",
    "a log": "SELECT write_log('x')",
    "logging": "SELECT * FROM enable_logging()",
    "a checkpoint": "SELECT * FROM checkpoint()",
    "temporary files": "SELECT * FROM duckdb_temporary_files()",
    "an address in memory": "SELECT * FROM arrow_scan(1, 2, 3)",
    "types with time zones, which look for Python": "SELECT * FROM test_all_types()",
    "a sequence": "SELECT nextval('s')",
    "waiting": "SELECT sleep_ms(100000)",
    "deep": "SELECT " + "[" * 900 + "1" + "]" * 900,
}


@pytest.mark.parametrize("sql", REFUSED.values(), ids=REFUSED)
def test_all_else_is_refused_in_one_sentence(path: Path, sql: str) -> None:
    with pytest.raises(StoreError) as told:
        run_query(path, sql, QueryLimits())
    text = str(told.value)
    assert text.startswith("query: found ")
    assert text.endswith(f"; expected {ALLOWED}")
    assert "\n" not in text
    assert "sesame" not in text


@pytest.mark.parametrize("sql", ["", " ", "-- nothing", ";", "/* nothing */ ;;"])
def test_nothing_is_no_question(path: Path, sql: str) -> None:
    with pytest.raises(StoreError, match="found no statement; expected one SELECT"):
        run_query(path, sql, QueryLimits())


def test_what_is_wrong_is_said_with_the_place(path: Path) -> None:
    with pytest.raises(StoreError, match=r"query: Parser Error.*\n\nLINE 1: SELECT \* FORM runs"):
        run_query(path, "SELECT * FORM runs", QueryLimits())
    with pytest.raises(StoreError, match=r'query: Binder Error.*"hosts"'):
        run_query(path, "SELECT hosts FROM runs", QueryLimits())


BEHIND: Final = {
    "reads": "SELECT * FROM read_text('secret.csv')",
    "lists": "SELECT * FROM glob('*')",
    "writes": "COPY runs TO 'runs.csv'",
    "writes into the store": "DELETE FROM runs",
    "attaches": "ATTACH 'other.duckdb'",
    "loads": "LOAD httpfs",
    "installs": "INSTALL httpfs",
    "unlocks": "SET enable_external_access = true",
    "unlocks all": "SET lock_configuration = false",
    "spills": "SET temp_directory = '.'",
    "is given more": "SET memory_limit = '64GB'",
}


@pytest.mark.parametrize("sql", BEHIND.values(), ids=BEHIND)
def test_the_connection_alone_would_do(path: Path, sql: str) -> None:
    """Should the check of a question ever miss something."""
    with closing(connect_read_only_unrestricted(path)) as connection:
        lock_connection(connection, None, QueryLimits())
        with pytest.raises(duckdb.Error):
            connection.execute(sql).fetchall()


@pytest.mark.parametrize("sql", BEHIND.values(), ids=BEHIND)
def test_the_check_alone_would_do(sql: str) -> None:
    """Should the connection ever allow something."""
    with closing(duckdb.connect()) as connection, pytest.raises(StoreError, match="expected one"):
        check_query(connection, sql)


_WORDS: Final = (
    *("SELECT", "*", "1", "FROM", "runs", "WITH", "x", "AS", "(", ")", ";", ",", "DELETE"),
    *("INSERT INTO", "RETURNING", "read_text", "glob", "'*'", "'secret.csv'", "COPY", "TO"),
    *("ATTACH", "':memory:'", "PRAGMA", "SET", "threads", "=", "CALL", "UNION", "WHERE", "VALUES"),
    *("CREATE", "TEMP", "TABLE", "query", "EXPLAIN", "--", "/*", "*/", '"', "\0", "\u202e"),
)


@given(words=st.lists(st.sampled_from(_WORDS), max_size=14))
@settings(max_examples=some_of(100))
def test_no_text_does_anything_but_answer(words: list[str]) -> None:
    """Whatever is put together: one SELECT, or an error that says what is wrong."""
    with closing(duckdb.connect()) as connection:
        connection.execute("CREATE TABLE runs AS SELECT 1 AS x")
        lock_connection(connection, None, QueryLimits())
        with suppress(StoreError):
            statement = check_query(connection, " ".join(words))
            assert statement.type == duckdb.StatementType.SELECT
            with suppress(duckdb.Error):
                connection.execute(statement).fetchmany(10)
        connection.execute("SELECT x FROM runs")
        assert connection.fetchall() == [(1,)]


def asked(warden: QuerySandbox, sql: str, limits: QueryLimits = QueryLimits()) -> SandboxResult:  # noqa: B008
    return warden.run(SandboxQuery(sql, limits))


QUICK: Final = QueryLimits(seconds=0.3)

ENDLESS: Final = {
    "rows": "SELECT count(*) FROM range(1000000000000)",
    "a product": "SELECT sum(a.range * b.range) FROM range(100000000) a, range(1000000) b",
    "a recursion": "WITH RECURSIVE r(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM r) "
    "SELECT count(*) FROM r",
    "one call that cannot be interrupted": "SELECT levenshtein(repeat('a', 300000), "
    "repeat('b', 300000))",
}


@pytest.mark.parametrize("sql", ENDLESS.values(), ids=ENDLESS)
def test_what_never_ends_is_ended(
    warden: QuerySandbox, sql: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked(warden, "SELECT 1 AS x")  # the process has started: its time passes in the query
    with monkeypatch.context() as patch:
        patch.setattr("nestmap.store.sandbox.process._PATIENCE", 0.0)  # until it is killed
        with pytest.raises(StoreError, match=r"found no answer within 0\.3 s; expected a faster"):
            asked(warden, sql, QUICK)
    assert asked(warden, "SELECT 1 AS x").relation.rows() == [{"x": 1}]


HUGE: Final = {
    "a text": "SELECT length(repeat('x', 3000000000))",
    "texts": "SELECT repeat('x', 100000000) FROM range(1000)",
    "a list": "SELECT len(range(400000000))",
    "a sum of texts": "SELECT string_agg(range::VARCHAR) FROM range(200000000)",
    "groups": "SELECT range, count(*) FROM range(100000000) GROUP BY ALL",
    "a sort": "SELECT range AS x, hash(range) AS y FROM range(100000000) ORDER BY y",
}


@pytest.mark.parametrize("sql", HUGE.values(), ids=HUGE)
def test_what_takes_too_much_is_ended_and_its_process_is_replaced(
    warden: QuerySandbox, sql: str
) -> None:
    before = warden.process_id
    with pytest.raises(StoreError, match=r"found no answer within (64 MB of memory|4 s); expected"):
        asked(warden, sql, QueryLimits(memory=64, seconds=4))
    after = warden.process_id
    assert after != before
    assert asked(warden, "SELECT 1 AS x").relation.rows() == [{"x": 1}]
    for _ in range(3):
        asked(warden, "SELECT sum(i) FROM range(1000000) AS r(i)")
    assert warden.process_id == after


def test_long_answers_are_cut_and_say_so(warden: QuerySandbox) -> None:
    endless = "SELECT * FROM range(1000000000000)"
    found = asked(warden, endless, QueryLimits(rows=5))
    assert found.is_cut
    assert found.relation.rows() == [{"range": i} for i in range(5)]
    whole = asked(warden, "SELECT * FROM range(5)", QueryLimits(rows=5))
    assert (whole.is_cut, len(whole.relation)) == (False, 5)


def test_wide_answers_are_cut_and_say_so(warden: QuerySandbox) -> None:
    sql = "SELECT repeat('x', 1000) AS x FROM range(10000)"
    found = asked(warden, sql, QueryLimits(rows=10_000, size=100_000))
    assert found.is_cut
    assert 0 < len(found.relation) <= 100
    assert found.relation.rows()[0] == {"x": "x" * 1000}


def test_nobody_has_to_wait(warden: QuerySandbox) -> None:
    question = SandboxQuery("SELECT count(*) FROM range(1000000000000)", QueryLimits(seconds=60))
    timer = Timer(0.3, question.cancel)
    timer.start()
    with pytest.raises(StoreError, match="it was cancelled"):
        warden.run(question)
    timer.join()
    assert asked(warden, "SELECT 1 AS x").relation.rows() == [{"x": 1}]


def test_a_question_that_was_cancelled_before_is_not_asked(warden: QuerySandbox) -> None:
    question = SandboxQuery("SELECT 1", QueryLimits())
    question.cancel()
    with pytest.raises(StoreError, match="it was cancelled"):
        warden.run(question)


def test_errors_come_from_the_other_process(warden: QuerySandbox) -> None:
    with pytest.raises(StoreError, match="found the table function glob; expected one SELECT"):
        asked(warden, "SELECT * FROM glob('*')")
    with pytest.raises(StoreError, match="found half a surrogate pair"):
        asked(warden, "SELECT '\ud800'")


def test_all_types_come_back(warden: QuerySandbox) -> None:
    sql = (
        "SELECT uuid() IS NOT NULL AS u, 1.5::DECIMAL(9, 2) AS d, [1] AS l, {'a': NULL} AS s, "
        "'é' AS t"
    )
    (row,) = asked(warden, sql).relation.rows()
    assert (row["u"], str(row["d"]), row["l"], row["s"], row["t"]) == (
        *(True, "1.50", [1], {"a": None}),
        "é",
    )


def test_the_store_is_free_between_questions(
    tmp_path: Path, warden: QuerySandbox, path: Path
) -> None:
    asked(warden, "SELECT 1")
    with closing(duckdb.connect(path, config={"access_mode": "read_write"})):
        pass


def test_a_store_that_somebody_holds_is_said_to_be(path: Path) -> None:
    with running(HOLD, str(path)) as holder:
        assert read_line(holder) == "open"
        with pytest.raises(StoreError, match="another process has it open"):
            run_query(path, "SELECT 1", QueryLimits(), patience=0.1)


def test_a_file_that_is_no_store(path: Path) -> None:
    for name, told in (("secret.csv", "expected"), ("nothing", "no such file")):
        expected = pytest.raises(StoreError, match=rf"{name}: .*{told}")
        with closing(QuerySandbox(path.parent / name)) as warden, expected:
            asked(warden, "SELECT 1")


def test_a_folder_of_parts(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Evaluations are read from their files when they are asked for; no other file can be."""
    folder = tmp_path_factory.mktemp("parts") / "it's"
    with Store.record_to(folder) as store:
        fill(store)
    before = contents(folder)
    assert run_query(
        folder, "SELECT count(*) AS n FROM evaluations", QueryLimits()
    ).table.to_pylist() == [{"n": 14}]
    with pytest.raises(StoreError, match="query: found "):
        run_query(folder, "WITH x AS (DELETE FROM runs RETURNING *) FROM x", QueryLimits())
    with closing(open_parts(folder)) as connection:
        lock_connection(connection, folder, QueryLimits())
        for sql in BEHIND.values():
            with pytest.raises(StoreError, match="query: found "):
                check_query(connection, sql)
    assert contents(folder) == before
