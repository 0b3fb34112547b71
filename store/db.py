"""The store: one DuckDB file with every exploration in it."""

from __future__ import annotations

import os
import socket
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import final
from uuid import UUID

import duckdb
import pyarrow as pa

from nestmap.model import EvaluationBatch, NetworkEvaluation
from nestmap.store import queries
from nestmap.store.connect import connect, connect_read_only
from nestmap.store.errors import explained
from nestmap.store.migrate import check_schema, migrate
from nestmap.store.records import RunInfo, RunRecord
from nestmap.store.writer import Run

DEFAULT_PATH = Path("nestmap.duckdb")
"""Where results go unless a user names another file."""

# Only one process can have the file open for writing, so no other one is running a run.
_MARK_KILLED = """
UPDATE runs SET status = 'interrupted', reason = 'its process ended without a word'
WHERE status = 'running' AND NOT (host = ? AND pid = ?)
"""


@final
class Store:
    """A store that is open; closes itself as a context manager.

    >>> with Store.open(None) as store:
    ...     store.query("SELECT count(*) AS runs FROM runs").to_pylist()
    [{'runs': 0}]
    """

    def __init__(self, connection: duckdb.DuckDBPyConnection, name: str) -> None:
        self._connection = connection
        self._name = name

    @classmethod
    def open(cls, path: Path | None) -> Store:
        """Opens a store for writing, and makes it if there is none; ``None``: in memory.

        Brings an older schema up to date. Runs whose process was killed become ``interrupted``.

        Raises:
            StoreError: if the file is locked, is not a store, is a newer one, or cannot be written.
        """
        name = "in memory" if path is None else str(path)
        connection = connect(path)
        try:
            with explained(name):
                migrate(connection, name)
                connection.execute(_MARK_KILLED, [socket.gethostname(), os.getpid()])
        except BaseException:
            connection.close()
            raise
        return cls(connection, name)

    @classmethod
    def open_read_only(cls, path: Path) -> Store:
        """Opens a store that can only be read; several processes may do so at once.

        Raises:
            StoreError: if there is no file, a run is writing to it, or it is not a store.
        """
        connection = connect_read_only(path)
        try:
            with explained(str(path)):
                check_schema(connection, str(path))
        except BaseException:
            connection.close()
            raise
        return cls(connection, str(path))

    def __enter__(self) -> Store:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Lets go of the file; end runs first, or they stay as if they were running."""
        with explained(self._name):
            self._connection.close()

    def start_run(self, info: RunInfo) -> Run:
        """Begins a run; call it when all input is known to be right.

        Raises:
            StoreError: if it cannot be written.
        """
        return Run(self._connection, self._name, info)

    def query(self, sql: str, parameters: Sequence[queries.Value] = ()) -> pa.Table:
        """The answer to a question in SQL; ``?`` in it stand for the parameters, in order.

        Raises:
            StoreError: with DuckDB's own words, if the question is not valid.
        """
        return queries.query(self._connection, sql, parameters)

    def runs(self) -> tuple[RunRecord, ...]:
        """All runs, oldest first."""
        with explained(self._name):
            return queries.read_runs(self._connection)

    def results(self, run: UUID) -> NetworkEvaluation:
        """The results of a finished run, equal to what was written.

        Raises:
            StoreError: if there is no such run, or it has no results.
        """
        with explained(self._name):
            return queries.read_results(self._connection, run)

    def evaluations(self, run: UUID, layer: str) -> tuple[EvaluationBatch, ...]:
        """All that a run evaluated for a layer: a batch for each search, as recorded.

        A search is one spatial mapping with one set of loop factors.

        The statistics of a batch count its rows and what failed, the most frequent reason first.

        Raises:
            StoreError: if there is no such run, or its workload has no such layer.
        """
        with explained(self._name):
            return queries.read_evaluations(self._connection, run, layer)
