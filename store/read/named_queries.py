"""Named queries: table macros in the store that answer common questions, and the views of a run."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from enum import StrEnum
from typing import final
from uuid import UUID

import duckdb

from nestmap.model import StoreError
from nestmap.model.evaluation.recording import LAST_RUN
from nestmap.store import rows
from nestmap.store.connection.connect import quote_name
from nestmap.store.read.relation import Relation
from nestmap.store.read.run_lookup import find_run
from nestmap.store.read.sql import Value, parameter_names, query
from nestmap.store.read.sweep_lookup import find_sweep_key


class Parameter(StrEnum):
    """The parameters of named queries."""

    RUN = "run"
    AGAINST = "against"
    LAYER = "layer"
    K = "k"
    SWEEP = "sweep"


Arguments = Mapping[Parameter, Value]
"""The values of parameters: runs, the name of a layer, a number, a sweep.

A run is its id, or a text that :func:`~nestmap.store.read.run_lookup.find_run` accepts.
"""


@final
@dataclass(frozen=True, slots=True)
class NamedQuery:
    """A named query: its name, a one-line description, its parameters, and its SQL.

    ``sql`` has ``?`` for each parameter in order.
    """

    name: str
    description: str
    parameters: tuple[Parameter, ...]
    sql: str

    def __str__(self) -> str:
        return f"{self.name}({', '.join(self.parameters)})"

    def missing(self, arguments: Arguments) -> tuple[Parameter, ...]:
        """Parameters of the query that are not given, except run and sweep: the last ones."""
        known = (*arguments, Parameter.RUN, Parameter.SWEEP)
        return tuple(x for x in self.parameters if x not in known)

    def unknown(self, arguments: Arguments) -> tuple[Parameter, ...]:
        """Given parameters that the query does not have."""
        return tuple(x for x in arguments if x not in self.parameters)


# Named queries are listed by the store itself, including those that users add with a comment
_CATALOGUE = """
SELECT function_name, comment, parameters FROM duckdb_functions()
WHERE function_type = 'table_macro' AND NOT internal AND comment IS NOT NULL
ORDER BY function_name
"""
_VIEWS = """
SELECT
  view.view_name, view.comment,
  list(part.column_name ORDER BY part.column_index) FILTER (list_contains(?, part.column_name))
FROM duckdb_views() AS view
JOIN duckdb_columns() AS part ON part.table_oid = view.view_oid AND NOT part.internal
WHERE NOT view.internal AND view.database_name = current_database()
GROUP BY ALL HAVING list_contains(list(part.column_name), 'run')
ORDER BY view.view_name
"""
_ORDER = ("position", "layer", "search", "number", "outcome", "operand", "level", "movement")
_LAYERS = """
SELECT place.name FROM runs JOIN workload_layers AS place ON place.workload = runs.workload
WHERE runs.id = ? ORDER BY place.position
"""
_KNOWN = frozenset(Parameter)


def named_queries(connection: duckdb.DuckDBPyConnection) -> tuple[NamedQuery, ...]:
    """All named queries, by name."""
    rows: list[tuple[str, str, list[str]]] = connection.execute(_CATALOGUE).fetchall()
    return tuple(
        _macro_query(name, description, tuple(Parameter(x) for x in parameters))
        for name, description, parameters in rows
        if _KNOWN.issuperset(parameters)
    )


def _macro_query(name: str, description: str, parameters: tuple[Parameter, ...]) -> NamedQuery:
    marks = ", ".join("?" for _ in parameters)
    sql = f"SELECT * FROM {quote_name(name)}({marks})"
    return NamedQuery(name, description, parameters, sql)


def view_queries(connection: duckdb.DuckDBPyConnection) -> tuple[NamedQuery, ...]:
    """The views of which each row belongs to a run, as queries for the rows of a run."""
    rows: list[tuple[str, str | None, Sequence[str] | None]]
    rows = connection.execute(_VIEWS, [list(_ORDER)]).fetchall()
    return tuple(_view_query(name, comment or "", order or ()) for name, comment, order in rows)


def _view_query(name: str, description: str, order: Sequence[str]) -> NamedQuery:
    columns = ", ".join(sorted(order, key=_ORDER.index))
    ordered = f" ORDER BY {columns}" if columns else ""
    sql = f"SELECT * FROM {quote_name(name)} WHERE run = ?{ordered}"
    return NamedQuery(name, description, (Parameter.RUN,), sql)


def find_query(connection: duckdb.DuckDBPyConnection, name: str) -> NamedQuery:
    """The named query with that name, or the view of runs.

    Raises:
        StoreError: if there is none.
    """
    entries = (*view_queries(connection), *named_queries(connection))
    known = {entry.name: entry for entry in sorted(entries, key=lambda entry: entry.name)}
    if name not in known:
        raise StoreError(
            f"query {name!r}: there is none of that name; expected {_suggest(name, list(known))}"
        )
    return known[name]


def ask(connection: duckdb.DuckDBPyConnection, name: str, arguments: Arguments) -> Relation:
    """The answer to a named query; arguments are bound as parameters and never become SQL.

    Raises:
        StoreError: if there is no such query, a parameter is missing or unknown, there is
            no such run, or its workload has no such layer.
    """
    wanted = find_query(connection, name)
    missing, unwanted = wanted.missing(arguments), wanted.unknown(arguments)
    if missing or unwanted:
        raise StoreError(
            f"query {name}: found {_join_names(tuple(arguments))}; expected "
            f"{_join_names(wanted.parameters)}"
        )
    bound = bound_arguments(connection, wanted.parameters, arguments)
    _check_layer(connection, bound)
    return query(connection, wanted.sql, [bound[x] for x in wanted.parameters])


def ask_sql(connection: duckdb.DuckDBPyConnection, sql: str, arguments: Arguments) -> Relation:
    """The answer to SQL in which the parameters of named queries are written ``$run`` and so on.

    Raises:
        StoreError: if the SQL is not valid, it does not name a given parameter, one that it names
            is missing, or there is no such run.
    """
    names = parameter_names(connection, sql)
    for parameter in arguments:
        if parameter not in names:
            raise StoreError(
                f"query: found no ${parameter} in the SQL; expected one, which is bound to the "
                "value given"
            )
    wanted = tuple(x for x in Parameter if x in names)
    bound = bound_arguments(connection, wanted, arguments)
    return query(connection, sql, {x.value: bound[x] for x in wanted if x in bound})


def bound_arguments(
    connection: duckdb.DuckDBPyConnection, wanted: Sequence[Parameter], arguments: Arguments
) -> Arguments:
    """The arguments with the ids of runs and the keys of sweeps.

    If a run or a sweep is wanted and none given, it is the last one.

    Raises:
        StoreError: if there is no such run or sweep, or there are several.
    """
    bound = dict(arguments)
    if Parameter.SWEEP in wanted:
        asked = str(bound.get(Parameter.SWEEP, LAST_RUN))
        bound[Parameter.SWEEP] = find_sweep_key(connection, asked)
    if Parameter.RUN in wanted:
        bound.setdefault(Parameter.RUN, LAST_RUN)
    for parameter in (Parameter.RUN, Parameter.AGAINST):
        if isinstance(run := bound.get(parameter), UUID):
            rows.runs.read_run(connection, run)
        elif isinstance(run, str):
            bound[parameter] = find_run(connection, run)
    return bound


def _check_layer(connection: duckdb.DuckDBPyConnection, arguments: Arguments) -> None:
    if Parameter.LAYER not in arguments or Parameter.RUN not in arguments:
        return
    run, layer = arguments[Parameter.RUN], arguments[Parameter.LAYER]
    rows: list[tuple[str]] = connection.execute(_LAYERS, [run]).fetchall()
    known = [name for (name,) in rows]
    if layer not in known:
        raise StoreError(
            f"run {run}: found no layer {layer!r}; expected {_suggest(str(layer), known)}"
        )


def _suggest(name: str, known: list[str]) -> str:
    near = get_close_matches(name, known, n=1)
    choices = f"one of {', '.join(known)}"
    return f"{near[0]} ({choices})" if near else choices


def _join_names(parameters: tuple[Parameter, ...]) -> str:
    return ", ".join(parameters) or "no parameter"
