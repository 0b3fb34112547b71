"""SQL queries on a connection."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import cast
from uuid import UUID

import duckdb
import pyarrow as pa

from nestmap.model.errors import StoreError
from nestmap.store.read.relation import Relation

Value = str | int | float | bool | datetime | UUID | None
"""The type of query parameters."""


def query(
    connection: duckdb.DuckDBPyConnection, sql: str, parameters: Sequence[Value] = ()
) -> Relation:
    """The result of an SQL query; each ``?`` in it is bound to one of the parameters.

    Raises:
        StoreError: with DuckDB's message, if the query is not valid.
    """
    try:
        if not connection.extract_statements(sql):
            raise StoreError(f"query: found no statement in {sql!r}; expected SQL")
        # the stubs do not say that a statement without a result returns None
        answer = cast(
            "duckdb.DuckDBPyRelation | None", connection.sql(sql, params=list(parameters))
        )
        return Relation(pa.table({}) if answer is None else answer.to_arrow_table())
    except duckdb.Error as error:
        raise StoreError(f"query: {error}") from None
