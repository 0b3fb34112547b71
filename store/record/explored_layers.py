"""The layers that a run has explored, and those that finished runs have explored before."""

from __future__ import annotations

from typing import final
from uuid import UUID

import duckdb

from nestmap.model import SearchStatistics
from nestmap.store.connection.database import Database
from nestmap.store.read.explored_layers import ExploredLayer, read_explored_layers
from nestmap.store.rows.content import OnConflict, Row, insert
from nestmap.store.rows.run_records import LayerInfo, RunInfo


@final
class ExploredLayers:
    """Layers that need not be explored again, and those that a run adds when it finishes."""

    def __init__(self, database: Database, info: RunInfo) -> None:
        self._database = database
        self._recording = info.recording
        self._known: dict[str, dict[str, ExploredLayer]] = {}
        self._rows: list[Row] = []

    def find(self, info: LayerInfo) -> ExploredLayer | None:
        """What finished runs found, as of the first question; ``None``: it must be explored.

        Raises:
            StoreError: if the store cannot be read.
        """
        if self._recording.fresh:
            return None
        if info.method not in self._known:
            with self._database.use() as connection:
                known = read_explored_layers(connection, info.method, self._recording)
            self._known[info.method] = known
        return self._known[info.method].get(info.key)

    def add(
        self, info: LayerInfo, positions: range, search: int, statistics: SearchStatistics
    ) -> None:
        """Takes a layer in: the positions of its searches, and the search that found the best."""
        row = {
            "first": positions[0],
            "last": positions[-1],
            "method": info.method,
            "problem": info.key,
            "search": search,
            "statistics": statistics.model_dump_json(),
        }
        self._rows.append(row)

    def write(self, connection: duckdb.DuckDBPyConnection, run: UUID) -> None:
        """Writes the layers of a run that finishes."""
        rows = [{"run": str(run), **row} for row in self._rows]
        insert(connection, "explored_layers", rows, OnConflict.REPLACE)
