"""SQL queries on a connection."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Final, cast
from uuid import UUID

import duckdb
import pyarrow as pa

from nestmap.model.errors import StoreError
from nestmap.store.connection.interrupts import run_interruptibly
from nestmap.store.read.relation import Relation
from nestmap.store.read.sweep_lookup import create_sweep_views

Value = str | int | float | bool | datetime | UUID | None
"""The type of query parameters."""

_OTHER_FILES: Final = (
    "expected statements on the store alone: to join it with other files, attach it in DuckDB "
    "(ATTACH 'nestmap.duckdb' (READ_ONLY))"
)


def query(
    connection: duckdb.DuckDBPyConnection,
    sql: str,
    parameters: Sequence[Value] | Mapping[str, Value] = (),
) -> Relation:
    """The result of an SQL query; each ``?`` or ``$name`` in it is bound to a parameter.

    Raises:
        StoreError: with DuckDB's message, if the query is not valid.
        KeyboardInterrupt: on Ctrl-C, however long the query would take.
    """
    given = dict(parameters) if isinstance(parameters, Mapping) else list(parameters)

    def answer() -> pa.Table:
        # the stubs do not say that a statement without a result returns None
        found = cast("duckdb.DuckDBPyRelation | None", connection.sql(sql, params=given))
        return pa.table({}) if found is None else found.to_arrow_table()

    try:
        if not connection.extract_statements(sql):
            raise StoreError(f"query: found no statement in {sql!r}; expected SQL")
        create_sweep_views(connection, sql)
        return Relation(run_interruptibly(connection, answer))
    except duckdb.PermissionException as error:
        raise StoreError(f"query: {error}; {_OTHER_FILES}") from None
    except duckdb.Error as error:
        raise StoreError(f"query: {error}") from None


def parameter_names(connection: duckdb.DuckDBPyConnection, sql: str) -> frozenset[str]:
    """The names of the parameters of an SQL query: ``run`` for ``$run``, numbers for ``?``.

    Raises:
        StoreError: with DuckDB's message, if the query is not valid.
    """
    try:
        statements = connection.extract_statements(sql)
    except duckdb.Error as error:
        raise StoreError(f"query: {error}") from None
    return frozenset(str(name) for x in statements for name in x.named_parameters)
