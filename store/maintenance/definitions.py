"""The views and macros of a store, compared with those that nestmap creates."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import closing
from functools import lru_cache
from typing import Final

import duckdb

from nestmap.store.connection.connect import connect
from nestmap.store.schema.migrate import migrate

# by their full names: macros of the file may have the short ones
_DEFINITIONS: Final = """
SELECT 'view ' || view_name, sql FROM system.main.duckdb_views()
WHERE database_name = current_database() AND NOT internal
UNION ALL
SELECT 'macro ' || function_name, macro_definition || parameters::VARCHAR
FROM system.main.duckdb_functions()
WHERE database_name = current_database() AND NOT internal
"""
_WORD: Final = re.compile(r"\w+|\S")


def changed_definitions(connection: duckdb.DuckDBPyConnection) -> Iterator[str]:
    """One sentence per view or macro that is missing or differs; others may be a user's own."""
    found = _definitions(connection)
    for name, words in sorted(_expected_definitions().items()):
        if name not in found:
            yield f"schema: there is no {name}"
        elif found[name] != words:
            yield f"schema: {name} is not the one that nestmap creates"


@lru_cache(maxsize=1)
def _expected_definitions() -> dict[str, list[str]]:
    with closing(connect(None)) as current:
        migrate(current, "in memory")
        return _definitions(current)


def _definitions(connection: duckdb.DuckDBPyConnection) -> dict[str, list[str]]:
    """The words of each definition, sorted: DuckDB writes the columns of REPLACE in any order."""
    words: dict[str, list[str]] = {}
    rows: list[tuple[str, str]] = connection.execute(_DEFINITIONS).fetchall()
    for name, definition in rows:
        words.setdefault(name, []).extend(_WORD.findall(definition))
    return {name: sorted(found) for name, found in words.items()}
