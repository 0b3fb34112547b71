"""References between the tables of the store, as declared in the comments of their columns."""

from __future__ import annotations

import re
from typing import NamedTuple

import duckdb

# A comment that begins with the name of a column, as in "cmes.hash: what it costs"
_TARGET = re.compile(r"([a-z_]+)\.([a-z_]+)\b")
_COLUMNS = """
SELECT table_name, column_name, comment FROM duckdb_columns()
WHERE database_name = current_database() AND NOT internal
  AND table_name IN (
    SELECT table_name FROM duckdb_tables() WHERE database_name = current_database()
  )
ORDER BY table_name, column_index
"""


class Reference(NamedTuple):
    """Each value of ``column`` in ``table`` is a value of ``key`` in ``owner``."""

    table: str
    column: str
    owner: str
    key: str


def references(connection: duckdb.DuckDBPyConnection) -> tuple[Reference, ...]:
    """All references of a store."""
    return references_in(connection.execute(_COLUMNS).fetchall())


def references_in(columns: list[tuple[str, str, str | None]]) -> tuple[Reference, ...]:
    """The references among columns, given as table, name and comment of each."""
    known = {(table, column) for table, column, _ in columns}
    found: list[Reference] = []
    for table, column, comment in columns:
        target = _TARGET.match(comment or "")
        if target and (target[1], target[2]) in known:
            found.append(Reference(table, column, target[1], target[2]))
    return tuple(found)
