"""The tables of the store, by what their rows belong to, and their references to each other."""

import re
from collections.abc import Mapping
from typing import Final, NamedTuple

import duckdb

CONTENT_TABLES: Final[Mapping[str, tuple[str, ...]]] = {
    "core_costs": ("hash",),
    "cmes": ("hash",),
    "breakdowns": ("cme", "operand", "level", "movement"),
    "level_usage": ("cme", "operand", "level"),
    "port_stalls": ("cme", "memory", "port"),
    "array_energies": ("cme", "part"),
    "static_energies": ("cme", "position"),
    "temporal_mappings": ("hash",),
    "spatial_mappings": ("hash",),
    "workloads": ("hash",),
    "workload_layers": ("workload", "position"),
    "layers": ("hash",),
    "accelerators": ("hash",),
    "memories": ("accelerator", "position"),
    "accelerator_areas": ("accelerator", "position"),
    "cores": ("accelerator", "core"),
    "homes": ("accelerator", "memory"),
    "wires": ("accelerator", "wire"),
    "paths": ("accelerator", "sender", "receiver"),
    "memory_costs": ("hash",),
}
"""Tables with equal rows for equal keys in all stores, and their key columns."""

RUN_TABLES: Final[Mapping[str, str]] = {
    "runs": "id",
    "results": "run",
    "vector_results": "run",
    "run_searches": "run",
    "explored_layers": "run",
    "run_costs": "run",
    "streams": "run",
    "stream_layers": "run",
    "stream_costs": "run",
    "generations": "run",
    "individuals": "run",
    "schedules": "run",
    "schedule_energies": "run",
    "schedule_nodes": "run",
    "schedule_tensors": "run",
    "schedule_transfers": "run",
    "schedule_streams": "run",
    "schedule_stays": "run",
    "schedule_memories": "run",
}
"""Tables whose rows belong to a run, and the column with its id."""

SEARCH_TABLES: Final[Mapping[str, str]] = {"searches": "id", "infeasible": "search"}
"""Tables whose rows belong to a search, except evaluations, and the column with its id."""

SWEEP_TABLES: Final[Mapping[str, str]] = {"sweeps": "hash", "sweep_designs": "sweep"}
"""Tables whose rows belong to a sweep, and the column with its hash."""

EVALUATION_ROWS: Final = "evaluation_rows"
"""The evaluations of all searches, by far the largest table."""

VERSION_TABLE: Final = "store_schema"
"""The table with the version of the schema."""

SMALL_TABLES: Final = (*SWEEP_TABLES, *RUN_TABLES, *SEARCH_TABLES, *CONTENT_TABLES)
"""All tables except evaluations, each before the tables that it refers to and before its parts.

Writing them in the opposite order never exposes a reference whose target is missing.
"""

PART_OF: Final[Mapping[str, tuple[str, str, str]]] = {
    **{table: ("run", "runs", "id") for table in RUN_TABLES if table != "runs"},
    "sweep_designs": ("sweep", "sweeps", "hash"),
    "infeasible": ("search", "searches", "id"),
    "breakdowns": ("cme", "cmes", "hash"),
    "level_usage": ("cme", "cmes", "hash"),
    "port_stalls": ("cme", "cmes", "hash"),
    "array_energies": ("cme", "cmes", "hash"),
    "static_energies": ("cme", "cmes", "hash"),
    "workload_layers": ("workload", "workloads", "hash"),
    "memories": ("accelerator", "accelerators", "hash"),
    "accelerator_areas": ("accelerator", "accelerators", "hash"),
    "cores": ("accelerator", "accelerators", "hash"),
    "homes": ("accelerator", "accelerators", "hash"),
    "wires": ("accelerator", "accelerators", "hash"),
    "paths": ("accelerator", "accelerators", "hash"),
    "evaluation_rows": ("search", "searches", "id"),
}
"""Tables whose rows are parts of a row of another table: column, other table, its column."""


# --- references between the tables of the store, as declared in the comments of their columns ---

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
