"""Named queries: table macros in the store that answer common questions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from enum import StrEnum
from typing import final
from uuid import UUID

import duckdb

from nestmap.model import StoreError
from nestmap.store import rows
from nestmap.store.read.relation import Relation
from nestmap.store.read.sql import Value, query


class Parameter(StrEnum):
    """The parameters of named queries."""

    RUN = "run"
    AGAINST = "against"
    LAYER = "layer"
    K = "k"


Arguments = Mapping[Parameter, Value]
"""The values of parameters: run ids, the name of a layer, a number."""


@final
@dataclass(frozen=True, slots=True)
class NamedQuery:
    """A named query: its name, a one-line description, and its parameters."""

    name: str
    description: str
    parameters: tuple[Parameter, ...]

    def __str__(self) -> str:
        return f"{self.name}({', '.join(self.parameters)})"

    @property
    def sql(self) -> str:
        """The query, with ``?`` for each parameter in order."""
        name = self.name.replace('"', '""')
        return f'SELECT * FROM "{name}"({", ".join("?" for _ in self.parameters)})'

    def missing(self, arguments: Arguments) -> tuple[Parameter, ...]:
        """Parameters of the query that are not given."""
        return tuple(x for x in self.parameters if x not in arguments)

    def unknown(self, arguments: Arguments) -> tuple[Parameter, ...]:
        """Given parameters that the query does not have."""
        return tuple(x for x in arguments if x not in self.parameters)


# Named queries are listed by the store itself, including those that users add with a comment
_CATALOGUE = """
SELECT function_name, comment, parameters FROM duckdb_functions()
WHERE function_type = 'table_macro' AND NOT internal AND comment IS NOT NULL
ORDER BY function_name
"""
_LAYERS = """
SELECT place.name FROM runs JOIN workload_layers AS place ON place.workload = runs.workload
WHERE runs.id = ? ORDER BY place.position
"""
_KNOWN = frozenset(Parameter)


def named_queries(connection: duckdb.DuckDBPyConnection) -> tuple[NamedQuery, ...]:
    """All named queries, by name."""
    rows: list[tuple[str, str, list[str]]] = connection.execute(_CATALOGUE).fetchall()
    return tuple(
        NamedQuery(name, description, tuple(Parameter(x) for x in parameters))
        for name, description, parameters in rows
        if _KNOWN.issuperset(parameters)
    )


def find_query(connection: duckdb.DuckDBPyConnection, name: str) -> NamedQuery:
    """The named query with that name.

    Raises:
        StoreError: if there is none.
    """
    known = {entry.name: entry for entry in named_queries(connection)}
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
    for parameter in (Parameter.RUN, Parameter.AGAINST):
        if isinstance(run := arguments.get(parameter), UUID):
            rows.runs.read_run(connection, run)
    _check_layer(connection, arguments)
    return query(connection, wanted.sql, [arguments[x] for x in wanted.parameters])


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
