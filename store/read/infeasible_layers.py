"""The layers of a finished run for which its searches found no mapping.

They have no results; their searches say why (``run_searches``, ``infeasible``).
"""

from __future__ import annotations

from typing import NamedTuple
from uuid import UUID

import duckdb

from nestmap.model import Infeasibility, InfeasibleLayer, SearchStatistics
from nestmap.model.base import copy_with

_MISSING = """
SELECT place.name, place.layer
FROM runs AS run JOIN workload_layers AS place ON place.workload = run.workload
WHERE run.id = $run AND place.name NOT IN (SELECT layer FROM results WHERE run = $run)
ORDER BY place.position
"""
_SEARCHES = """
SELECT
  layer.operator,
  accelerator.name,
  coalesce(search.options ->> 'stage', '') <> 'ExactStage'
    AND coalesce(json_array_length(search.constraints, '$.memory_levels'), 0) = 0,
  failed.reason, failed.count
FROM run_searches AS linked
JOIN searches AS search ON search.id = linked.search
JOIN layers AS layer ON layer.hash = search.content
JOIN accelerators AS accelerator ON accelerator.hash = search.accelerator
LEFT JOIN infeasible AS failed ON failed.search = search.id
WHERE linked.run = ? AND linked.layer = ?
ORDER BY linked.position, failed.position
"""


class _SearchedRow(NamedTuple):
    operator: str
    accelerator: str
    greedy: bool
    reason: str | None
    orders: int | None


def read_infeasible(
    connection: duckdb.DuckDBPyConnection, run: UUID
) -> tuple[InfeasibleLayer, ...]:
    """The infeasible layers in order; layers that the run did not search are none of them."""
    missing: list[tuple[str, str]] = connection.execute(_MISSING, {"run": run}).fetchall()
    first: dict[str, InfeasibleLayer] = {}
    found: list[InfeasibleLayer] = []
    for name, content in missing:
        rows: list[tuple[str, str, bool, str | None, int | None]]
        rows = connection.execute(_SEARCHES, [run, name]).fetchall()
        if rows:
            first[content] = _layer(name, [_SearchedRow(*row) for row in rows])
            found.append(first[content])
        elif content in first:
            repeats: dict[str, object] = {"layer": name, "repeats": first[content].layer}
            found.append(copy_with(first[content], repeats))
    return tuple(found)


def _layer(name: str, rows: list[_SearchedRow]) -> InfeasibleLayer:
    failed = SearchStatistics()
    for row in rows:
        if row.reason is not None and row.orders is not None:
            cause = Infeasibility(reason=row.reason, count=row.orders)
            failed += SearchStatistics(infeasible=(cause,))
    return InfeasibleLayer(
        layer=name,
        operator=rows[0].operator,
        accelerator=rows[0].accelerator,
        causes=failed.infeasible,
        greedy=rows[0].greedy,
    )
