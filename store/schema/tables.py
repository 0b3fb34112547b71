"""Which tables the store has, by what a row belongs to: content, a run or a search."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

CONTENT: Final[Mapping[str, tuple[str, ...]]] = {
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
"""The same in all stores wherever the key is the same; with their keys."""

RUNS: Final[Mapping[str, str]] = {
    "runs": "id",
    "results": "run",
    "vector_results": "run",
    "run_searches": "run",
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
"""What belongs to a run; with the column that names it."""

SEARCHES: Final[Mapping[str, str]] = {"searches": "id", "infeasible": "search"}
"""What belongs to a search, its evaluations aside; with the column that names it."""

ROWS: Final = "evaluation_rows"
"""The evaluations of all searches; large where all else is small."""

VERSION: Final = "schema_version"
"""The migrations of the store itself."""

SMALL: Final = (*RUNS, *SEARCHES, *CONTENT)
"""All but the evaluations: what refers to something comes before it, and a thing before its parts.

Who writes them in the opposite order never shows a reference before what it refers to.
"""

PARTS: Final[Mapping[str, tuple[str, str, str]]] = {
    **{table: ("run", "runs", "id") for table in RUNS if table != "runs"},
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
"""Tables whose rows are parts of a row of another: column, other table, its column."""


def literal(text: str) -> str:
    """The text as SQL, where SQL takes no parameter."""
    return "'" + text.replace("'", "''") + "'"


def name(text: str) -> str:
    """The text as a name in SQL."""
    return '"' + text.replace('"', '""') + '"'
