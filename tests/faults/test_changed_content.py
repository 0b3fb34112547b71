"""Stores whose content somebody has changed: valid tables that contradict each other.

``make stress`` (``NESTMAP_STRESS=1``) makes all changes to all tables, about 500 of them, and also
writes the report of each.
"""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import duckdb
import pytest

from nestmap.model import NestmapError
from nestmap.pipeline.explore.api import explore_network
from nestmap.pipeline.pages.report.page import report
from nestmap.store import Store
from nestmap.store.schema.tables import EVALUATION_ROWS, SMALL_TABLES, VERSION_TABLE
from tests.pipeline.networks import PROBLEM
from tests.sweeps import STRESS

EXAMPLE: Final = (
    ("accelerators", "removed"),
    ("cmes", "the first half"),
    ("layers", "no rows"),
    ("evaluation_rows", "cuts = []"),
    ("evaluation_rows", "energy = NULL"),
    ("evaluation_rows", "latency2 = NULL"),
    ("evaluation_rows", "ordering = []"),
    ("results", "bound = -bound"),
    ("results", "cme = 'x'"),
    ("results", "evaluations = -evaluations"),
    ("results", "repeats = 'x'"),
    ("runs", "kind = NULL"),
    ("runs", "record_limit = 0"),
    ("searches", "reserved = NULL"),
    ("runs", "without vector_counted"),
    ("store_schema", "version = NULL"),
    ("searches", "code_bits = 0"),
    ("searches", "factors = []"),
)
"""A change of each kind that once ended in another error than nestmap's."""

CHANGES: Final = {
    "VARCHAR": ("'x'", "'{{}}'", "replace({name}, '1', '7')", "substr({name}, 2)"),
    "DOUBLE": ("-{name}", "{name} + 1", "0", "'nan'::DOUBLE"),
    "BIGINT": ("-{name}", "{name} + 1", "0"),
    "INTEGER": ("-{name}", "{name} + 1", "0"),
    "TINYINT": ("-{name}", "{name} + 1", "0"),
    "UTINYINT": ("{name} + 1", "0"),
    "BLOB": ("''::BLOB",),
}
"""What is written instead of a value of each type, apart from NULL."""


@pytest.fixture(name="recorded", scope="module")
def _recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("recorded") / "store.duckdb"
    with Store.open(path) as store:
        explore_network(PROBLEM, store=store)
    return path


def changes(path: Path) -> Iterator[tuple[str, str, str | None]]:
    """Table, what is changed, and the query whose answer replaces it: none, if removed."""
    with duckdb.connect(path, read_only=True) as connection:
        for table in sorted((VERSION_TABLE, *SMALL_TABLES, EVALUATION_ROWS)):
            columns = connection.execute(f"DESCRIBE {table}").fetchall()
            for change, query in table_changes([(x[0], x[1]) for x in columns]):
                yield table, change, query and query.format(file=table)


def table_changes(columns: list[tuple[str, str]]) -> Iterator[tuple[str, str | None]]:
    """What can be changed in a table."""
    yield "removed", None
    yield "no rows", "SELECT * FROM {file} LIMIT 0"
    yield "the first half", "SELECT * FROM {file} LIMIT (SELECT count(*) // 2 FROM {file})"
    for name, kind in columns:
        yield f"without {name}", f'SELECT * EXCLUDE ("{name}") FROM {{file}}'
        values = CHANGES.get(kind, ("[]",) if kind.endswith("]") else ())
        for value in (f"NULL::{kind}", *(x.replace("{name}", f'"{name}"') for x in values)):
            told = value.replace('"', "").replace(f"::{kind}", "")
            changed = value.replace("{", "{{").replace("}", "}}")
            query = f'SELECT * REPLACE (CAST({changed} AS {kind}) AS "{name}") FROM {{file}}'
            yield f"{name} = {told}", query


def read_all(path: Path) -> None:
    """Reads what a run has recorded, all that a report shows of it in ``make stress``."""
    with Store.open_read_only(path) as store:
        run = store.find_run("last")
        store.runs()
        store.best(run)
        store.pareto(run)
        for layer in store.info(run).network.workload.layers:
            store.evaluations(run, layer.name)
        if STRESS:
            report(store, [run])


def test_changed_tables_are_read_or_refused(recorded: Path, tmp_path: Path) -> None:
    every_change = list(changes(recorded))
    if STRESS:
        chosen = every_change
    else:
        chosen = [x for x in every_change if x[:2] in EXAMPLE]
        assert len(chosen) == len(EXAMPLE)
    refused = [x[:2] for x in chosen if not is_read(recorded, tmp_path / "changed.duckdb", *x)]
    print(f"{len(chosen)} changes, {len(refused)} refused")
    assert len(refused) > len(chosen) // 5
    assert set(EXAMPLE) <= set(refused)


def is_read(recorded: Path, path: Path, table: str, change: str, query: str | None) -> bool:
    """Whether a changed copy is read; otherwise nestmap says why."""
    shutil.copyfile(recorded, path)
    with duckdb.connect(path) as connection:
        try:
            if query is not None:
                connection.execute(f"CREATE TABLE changed AS {query}")
        except duckdb.ConversionException:  # a number that its type does not have
            return True
        connection.execute(f"DROP TABLE {table}")
        if query is not None:
            connection.execute(f"ALTER TABLE changed RENAME TO {table}")
    try:
        read_all(path)
    except NestmapError:
        return False
    except Exception as error:
        raise AssertionError(f"{table}: {change}") from error
    return True
