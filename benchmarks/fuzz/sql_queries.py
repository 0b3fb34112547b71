"""Questions in SQL of people one does not trust: each is answered within limits, or refused."""

from __future__ import annotations

import random
from collections.abc import Generator
from contextlib import closing, contextmanager
from pathlib import Path
from time import monotonic
from typing import Final

from tests.store.builders import NASTY
from tests.store.filled import fill

from benchmarks.fuzz.harness import Case
from nestmap.store import Store
from nestmap.store.sandbox.allow_list import QueryLimits
from nestmap.store.sandbox.process import QuerySandbox, SandboxQuery

SECRET: Final = "sesame"
LIMITS: Final = QueryLimits(rows=100, seconds=2, memory=256)

_SOURCES: Final = (
    *("runs", "layers", "results", "best", "searches", "evaluation_rows", "cmes", "breakdowns"),
    *("history()", "duckdb_tables()", "information_schema.columns", "range(3)", "nothing"),
    *("'secret.csv'", "read_csv('secret.csv')", "read_text('secret.csv')", "glob('*')"),
    *("read_blob('/etc/passwd')", "duckdb_secrets()", "duckdb_settings()", "pragma_version()"),
    *("range(1000000000000)", "generate_series(1, 100000000)", "query('SELECT 1')"),
    *("query_table('runs')", "sniff_csv('secret.csv')", "parquet_scan('x')", "repeat(1, 9999999)"),
)
_VALUES: Final = (
    *("1", "*", "count(*)", "NULL", "id", "host", "name", "'a'", "[1, 2]", "{'a': 1}", "1e400"),
    *("getenv('HOME')", "current_setting('threads')", "repeat('x', 1000000000)", "1/0"),
    *("list_aggregate(range(100000000), 'sum')", "md5('x')", "random()", "-9223372036854775808"),
    *("(SELECT content FROM read_text('secret.csv'))", "write_log('x')", "nextval('s')"),
    *("array_to_string(range(10000000), ',')", "regexp_matches('a', '(a+)+$')", "'\\x00'"),
)
_SHAPES: Final = (
    "SELECT {v} FROM {s}",
    "SELECT {v}, {v} FROM {s} AS a, {s} AS b",
    "SELECT {v} FROM {s} WHERE {v} = {v} ORDER BY {v} LIMIT 5",
    "WITH x AS (SELECT {v} AS y FROM {s}) SELECT * FROM x UNION ALL SELECT {v}",
    "WITH RECURSIVE r(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM r) SELECT {v} FROM r",
    "FROM {s} SELECT {v} GROUP BY ALL",
    "PIVOT {s} ON {v} USING count(*)",
    "SELECT {v} FROM (SELECT {v} FROM {s}) AS q",
    "COPY (SELECT {v} FROM {s}) TO 'stolen.csv'",
    "CREATE TABLE mine AS SELECT {v} FROM {s}",
    "INSERT INTO runs SELECT {v} FROM {s}",
    "ATTACH 'other.duckdb'; SELECT {v}",
    "SET enable_external_access = true; SELECT {v} FROM {s}",
    "DROP TABLE runs",
    "SUMMARIZE {s}",
    "DESCRIBE {s}",
    "EXPLAIN ANALYZE SELECT {v} FROM {s}",
    "EXECUTE p({v})",
    "SELECT {v} FROM {s} TABLESAMPLE 10%",
    "VALUES ({v}, {v})",
)
_PIECES: Final = ("'", '"', ";", "--", "/*", "(", ")", "\x00", "é")


@contextmanager
def begin(folder: Path) -> Generator[Case]:
    """Asks one sandbox everything; whatever was asked, it answers a simple question after it."""
    store, secret = folder / "store.duckdb", folder / "secret.csv"
    with Store.open(store) as opened:
        fill(opened, "fc")
        fill(opened, NASTY)
    secret.write_text(f"word\n{SECRET}\n", encoding="utf-8")
    before = store.read_bytes()
    with closing(QuerySandbox(store)) as sandbox:

        def case(draw: random.Random) -> str:
            start = monotonic()
            try:
                found = sandbox.run(SandboxQuery(question(draw), LIMITS))
                assert SECRET not in str(found.relation.rows())
                return "answered, cut" if found.is_cut else "answered"
            finally:
                assert monotonic() - start < 30, "it took too long"
                assert sandbox.run(SandboxQuery("SELECT 7 AS x", LIMITS)).relation.rows()
                assert store.read_bytes() == before, "the store changed"
                assert {x.name for x in folder.iterdir()} == {store.name, secret.name}

        yield case


def question(draw: random.Random) -> str:
    """A question, some with characters changed."""
    text = draw.choice(_SHAPES)
    while "{v}" in text or "{s}" in text:
        text = text.replace("{v}", draw.choice(_VALUES), 1).replace("{s}", draw.choice(_SOURCES), 1)
    if draw.random() < 0.3:
        place = draw.randrange(len(text) + 1)
        text = (
            text[:place]
            + draw.choice(("'", '"', ";", "--", "/*", "(", ")", "\x00", "é"))
            + text[place:]
        )
    if draw.random() < 0.02:
        text = "(" * 5000 + text
    return text
