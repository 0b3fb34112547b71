"""Lookup of a sweep by ``last``, its name, or the beginning of its key; a view of each by name."""

from collections.abc import Sequence
from typing import Final

import duckdb

from nestmap.model.errors import StoreError
from nestmap.model.evaluation.recording import LAST_RUN
from nestmap.store.connection.connect import query_number, quote_literal, quote_name

_SHOWN: Final = 5
_SWEEPS: Final = """
SELECT hash, name FROM sweeps
WHERE $beginning = '' OR name = $beginning OR starts_with(hash, $beginning)
ORDER BY started DESC, hash DESC
"""


def find_sweep_key(connection: duckdb.DuckDBPyConnection, text: str) -> str:
    """The key of the sweep that ``text`` names; of several with one name, the last one started.

    Raises:
        StoreError: if there is none.
    """
    beginning = "" if text == LAST_RUN else text.strip()
    found = _found(connection, beginning)
    if found and (beginning or text == LAST_RUN):
        return found[0][0]
    names = dict.fromkeys(name for _, name in _found(connection, ""))
    known = ", ".join(list(names)[:_SHOWN])
    expected = f"{LAST_RUN} or the name of one: {known}" if known else "nestmap sweep to record one"
    raise StoreError(f"sweep {text!r}: found no such sweep in this store; expected {expected}")


def _found(connection: duckdb.DuckDBPyConnection, beginning: str) -> list[tuple[str, str]]:
    return connection.execute(_SWEEPS, {"beginning": beginning}).fetchall()


_NAMED: Final = """
SELECT name, hash, objectives FROM sweeps
QUALIFY row_number() OVER (PARTITION BY name ORDER BY started DESC, hash DESC) = 1
"""
_STRUCTURE: Final = "SELECT json_group_structure(parameters) FROM sweep_designs WHERE sweep = ?"
_TAKEN: Final = """
SELECT count(*) FROM duckdb_columns()
WHERE database_name = current_database() AND table_name =
"""
_VIEW: Final = """
CREATE OR REPLACE TEMP VIEW {name} AS
SELECT
  design.number AS design, unnest(from_json(design.parameters, {structure})), design.mapped_for,
  design.energy, design.latency, design.edp, design.area, {expressions}
  list_contains(asked.front, design.position) AS on_front, design.reason
FROM sweep_designs AS design JOIN sweeps AS asked ON asked.hash = design.sweep
WHERE design.sweep = {key}
"""
_FIGURES: Final = frozenset(("energy", "latency", "edp", "area"))


def create_sweep_views(connection: duckdb.DuckDBPyConnection, sql: str) -> None:
    """Makes a view ``sweep_NAME`` of each sweep that an SQL query may name, for its connection.

    It has a row for each design and what it is mapped for, the parameters of the space and the
    objectives that are expressions as columns; a parameter whose values differ in type is a text.
    A macro cannot have columns that depend on rows. Tables of the store keep their names.
    """
    if "sweep_" not in sql.lower():
        return
    for name, key, objectives in connection.execute(_NAMED).fetchall():
        view = f"sweep_{name}"
        if view.replace('"', '""').lower() in sql.lower() and not _is_taken(connection, view):
            _create_view(connection, view, key, objectives)


def _is_taken(connection: duckdb.DuckDBPyConnection, name: str) -> bool:
    return query_number(connection, f"{_TAKEN} {quote_literal(name)}") > 0


def _create_view(
    connection: duckdb.DuckDBPyConnection, name: str, key: str, objectives: Sequence[str]
) -> None:
    ((structure,),) = connection.execute(_STRUCTURE, [key]).fetchall()
    if structure is None:
        return
    expressions = " ".join(
        f"design.objective_values[{n}] AS {quote_name(objective)},"
        for n, objective in enumerate(objectives, start=1)
        if objective not in _FIGURES
    )
    view = _VIEW.format(
        name=quote_name(name),
        structure=quote_literal(structure.replace('"JSON"', '"VARCHAR"')),
        expressions=expressions,
        key=quote_literal(key),
    )
    connection.execute(view)
