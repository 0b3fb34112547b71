"""A run being recorded: its evaluations by columns, a transaction a chunk, then its results."""

from __future__ import annotations

import os
import socket
from contextlib import suppress
from datetime import UTC, datetime
from types import TracebackType
from typing import final
from uuid import UUID, uuid4

import duckdb
import pyarrow as pa

from nestmap.model import EvaluationBatch, Loop, NetworkEvaluation, SpatialProblem, StoreError
from nestmap.store.connect import number, transaction
from nestmap.store.content import (
    OnConflict,
    Row,
    insert,
    result_row,
    vector_row,
    write_accelerators,
    write_spatial_mappings,
    write_workload,
)
from nestmap.store.errors import explained
from nestmap.store.records import RunInfo, RunStatus
from nestmap.store.search import Search

CHUNK = 122_880
"""Evaluations committed together: DuckDB's row group, which it writes straight to the file."""

_END = "UPDATE runs SET status = ?, reason = ?, ended = ? WHERE id = ?"
_COUNTED = "UPDATE runs SET vector_counted = ? WHERE id = ?"
_NEXT_SEARCH = "SELECT nextval('search_ids')::INTEGER"
_WRITE = "INSERT INTO evaluation_rows BY NAME SELECT * FROM incoming"


@final
class Run:
    """A run that is being recorded; :meth:`nestmap.store.Store.start_run` gives one.

    As a context manager it is ``done`` only if ``finish`` was called inside. Left with an
    exception it is ``failed``, and ``interrupted`` where that is Ctrl-C or there was none. What
    was recorded before is kept in each case.
    """

    def __init__(self, connection: duckdb.DuckDBPyConnection, store: str, info: RunInfo) -> None:
        self.id: UUID = uuid4()
        self.status = RunStatus.RUNNING
        self._connection = connection
        self._store = store
        self._info = info
        self._layers = {layer.name: layer for layer in info.network.workload.layers}
        self._searches: dict[tuple[SpatialProblem, tuple[Loop, ...]], Search] = {}
        self._unwritten: list[Search] = []
        self._current: Search | None = None
        self._buffer = _Buffer()
        with explained(store), transaction(connection):
            self._begin()

    def _begin(self) -> None:
        info, network = self._info, self._info.network
        write_workload(self._connection, network.workload)
        write_accelerators(self._connection, [network.accelerator])
        row: Row = {
            "id": str(self.id),
            "command": info.command,
            "version": info.version,
            "objective": info.objective.value,
            "pipeline": info.pipeline,
            "options": info.options,
            "workload": network.workload.content_hash,
            "accelerator": network.accelerator.content_hash,
            "constraints": network.constraints.model_dump_json(),
            "host": socket.gethostname(),
            "pid": os.getpid(),
            "started": _now(),
            "status": self.status.value,
        }
        insert(self._connection, "runs", [row])

    def record(self, batch: EvaluationBatch) -> None:
        """Takes evaluations in; each ``CHUNK`` of them is committed in one transaction.

        The arrays of the batch must not change afterwards.

        Raises:
            StoreError: if they cannot be written.
            ValueError: if the run has ended, or has another accelerator or no such layer.
        """
        self._check_running()
        with explained(self._store):
            search = self._search_of(batch)
            search.count(batch.statistics)
            if len(batch):
                self._buffer.add(search.take(batch))
            while self._buffer.rows >= CHUNK:
                with transaction(self._connection):
                    self._write(CHUNK)
                self._forget(CHUNK)

    def finish(self, results: NetworkEvaluation) -> None:
        """Writes what is pending and the results, and ends the run as ``done``.

        Raises:
            StoreError: if they cannot be written.
            ValueError: if the run has ended already.
        """
        self._check_running()
        self._end(RunStatus.DONE, None, results)

    def fail(self, reason: str) -> None:
        """Writes what is pending, and ends the run as ``failed`` for that reason.

        Raises:
            StoreError: if it cannot be written.
            ValueError: if the run has ended already.
        """
        self._check_running()
        self._end(RunStatus.FAILED, reason, None)

    def __enter__(self) -> Run:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self.status is not RunStatus.RUNNING:
            return
        if error is None:
            self._end(RunStatus.INTERRUPTED, "left before it had results", None)
            return
        status = RunStatus.FAILED if isinstance(error, Exception) else RunStatus.INTERRUPTED
        with suppress(StoreError):  # the error that is on its way says more
            self._end(status, str(error) or type(error).__name__, None)

    def _check_running(self) -> None:
        if self.status is not RunStatus.RUNNING:
            raise ValueError(f"run {self.id} is {self.status}; expected a run that is running")

    def _search_of(self, batch: EvaluationBatch) -> Search:
        if self._current is None or not self._current.is_of(batch):
            key = (batch.mappings.problem, batch.mappings.factors)
            self._current = self._searches.get(key) or self._start_search(batch)
            self._searches[key] = self._current
        return self._current

    def _start_search(self, batch: EvaluationBatch) -> Search:
        problem = batch.mappings.problem
        if self._layers.get(problem.layer.name) != problem.layer:
            raise ValueError(f"layer {problem.layer.name} is not in the workload of run {self.id}")
        if problem.accelerator.name != self._info.network.accelerator.name:
            raise ValueError(f"{problem.accelerator.name} is not the accelerator of run {self.id}")
        search = Search(number(self._connection, _NEXT_SEARCH), batch)
        self._unwritten.append(search)
        return search

    def _write(self, rows: int) -> None:
        """Writes that many evaluations, and all that is new about searches."""
        searches = self._unwritten
        write_accelerators(self._connection, [x.problem.accelerator for x in searches])
        write_spatial_mappings(self._connection, [x.problem.spatial_mapping for x in searches])
        insert(self._connection, "searches", [x.row(self.id) for x in searches])
        failed = [row for x in self._searches.values() for row in x.infeasible_rows()]
        insert(self._connection, "infeasible", failed, OnConflict.ADD_COUNT)
        if rows:
            self._connection.register("incoming", self._buffer.head(rows))
            self._connection.execute(_WRITE)
            self._connection.unregister("incoming")

    def _forget(self, rows: int) -> None:
        """Drops what is committed."""
        self._buffer.drop(rows)
        self._unwritten.clear()
        for search in self._searches.values():
            search.infeasible.clear()

    def _end(
        self, status: RunStatus, reason: str | None, results: NetworkEvaluation | None
    ) -> None:
        rows = self._buffer.rows
        with explained(self._store), transaction(self._connection):
            self._write(rows)
            if results is not None:
                self._write_results(results)
            self._connection.execute(_END, [status.value, reason, _now(), self.id])
        self._forget(rows)
        self.status = status

    def _write_results(self, results: NetworkEvaluation) -> None:
        mappings = [result.cme.spatial_mapping for result in results.layers]
        write_spatial_mappings(self._connection, mappings)
        run = str(self.id)
        rows = [result_row(run, i, result) for i, result in enumerate(results.layers)]
        insert(self._connection, "results", rows)
        vector = [vector_row(run, i, entry) for i, entry in enumerate(results.vector)]
        insert(self._connection, "vector_results", vector)
        self._connection.execute(_COUNTED, [results.vector_counted, self.id])


@final
class _Buffer:
    """Rows of ``evaluation_rows`` that wait to be written."""

    def __init__(self) -> None:
        self.rows = 0
        self._tables: list[pa.Table] = []

    def add(self, table: pa.Table) -> None:
        self._tables.append(table)
        self.rows += table.num_rows

    def head(self, rows: int) -> pa.Table:
        """The first rows, in one piece."""
        return pa.concat_tables(self._tables).slice(0, rows).combine_chunks()

    def drop(self, rows: int) -> None:
        """Drops the first rows."""
        if rows < self.rows:
            self._tables = [pa.concat_tables(self._tables).slice(rows)]
        else:
            self._tables = []
        self.rows -= rows


def _now() -> datetime:
    """The time (UTC), without saying that it is UTC: DuckDB's TIMESTAMP has no zone."""
    return datetime.now(UTC).replace(tzinfo=None)
