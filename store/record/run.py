"""A run being recorded: its evaluations by columns, a transaction a chunk, then its results."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from time import monotonic, process_time
from types import TracebackType
from typing import final
from uuid import UUID

import duckdb
import pyarrow as pa

from nestmap.model import (
    CostModelEvaluation,
    EvaluationBatch,
    LayerResult,
    NetworkEvaluation,
    RecordMode,
    SpatialMapping,
    StoreError,
    TemporalMapping,
)
from nestmap.model.base import replaced
from nestmap.store.connection.connect import transaction
from nestmap.store.connection.database import Database
from nestmap.store.read.completed_searches import KnownSearch, Scope, read_complete, read_known
from nestmap.store.record.buffer import Buffer, Part
from nestmap.store.record.search import Search
from nestmap.store.rows.cmes import read_cme, write_cmes
from nestmap.store.rows.content import (
    OnConflict,
    Row,
    insert,
    result_row,
    vector_row,
    write_accelerators,
    write_spatial_mappings,
)
from nestmap.store.rows.run_records import RunInfo, RunStatus, SearchInfo
from nestmap.store.rows.runs import begin_run, count_rows, drop_unlinked, end_run, let_go

CHUNK = 122_880
"""Evaluations committed together, or a multiple: DuckDB's row group.

It writes these straight to the file; a few rows more and it takes twice the time and the room.
"""

SHORTEST = 1.0
"""A search that ends is committed, if the last commit was so many seconds ago."""

LONGEST = 5.0
"""After so many seconds what there is is committed, however little, in the middle of a search."""

_WRITE = "INSERT INTO evaluation_rows BY NAME SELECT * FROM incoming"

AfterCommit = Callable[[duckdb.DuckDBPyConnection], None]
"""Who wants to know that something was committed."""


def no_more(connection: duckdb.DuckDBPyConnection) -> None:
    """Nothing to do after a commit."""


@final
class Run:
    """A run that is being recorded; :meth:`nestmap.store.Store.start_run` gives one.

    As a context manager it is ``done`` only if ``finish`` was called inside. Left with an
    exception it is ``failed``, and ``interrupted`` where that is Ctrl-C or there was none. What
    was recorded before is kept in each case, and :meth:`nestmap.store.Store.resume_run` goes on.
    """

    def __init__(
        self,
        database: Database,
        info: RunInfo,
        identity: UUID,
        resumed: bool = False,
        after_commit: AfterCommit = no_more,
    ) -> None:
        self.id = identity
        self.info = info
        self.status = RunStatus.RUNNING
        self._database = database
        self._resumed = resumed
        self._after_commit = after_commit
        self._layers = {layer.name: layer for layer in info.network.workload.layers}
        self._found: dict[str, Search] = {}
        self._known: dict[tuple[str, str], dict[str, KnownSearch]] = {}
        self._keys: dict[_Mappings, str] = {}
        self._reported: dict[str, CostModelEvaluation] = {}
        self._position = 0
        self._unwritten: list[Search] = []
        self._links: list[Row] = []
        self._buffer = Buffer()
        self._cpu = process_time()
        with self._writing() as connection:
            begin_run(connection, self.id, info, resumed)
            self._kept = count_rows(connection, self.id) if resumed else 0
        self._committed = monotonic()

    def recall(self, info: SearchInfo) -> tuple[EvaluationBatch, ...] | None:
        """What a search has found that the store knows already; ``None``: it has to be done.

        These are the evaluations that no other one of the search beats, in order, so the best by
        any objective and the front are the same as of all of them. The first batch has the
        statistics of the whole search.

        Raises:
            StoreError: if the store cannot be read.
        """
        if info.key in self._found:
            self._link(info, self._found[info.key].id, recalled=True)
            return self._found[info.key].front()
        known = self._own(info) if self._is_fresh else self._earlier(info)
        if known is None:
            return None
        self._link(info, known.id, recalled=known.id != self._number(info))
        return known.batches(info.spatial)

    def _own(self, info: SearchInfo) -> KnownSearch | None:
        """What this run itself has searched before it was interrupted."""
        with self._database.use() as connection:
            return read_complete(connection, self._number(info))

    def _earlier(self, info: SearchInfo) -> KnownSearch | None:
        """What any run has searched before this one has first asked for something like it."""
        kind = info.spatial.accelerator.content_hash, info.options
        if kind not in self._known:
            scope = Scope(self.info.network.workload.content_hash, *kind, self.info.recording.needs)
            with self._database.use() as connection:
                self._known[kind] = read_known(connection, scope)
        return self._known[kind].get(info.key)

    @contextmanager
    def searching(self, info: SearchInfo) -> Generator[Search]:
        """A search whose evaluations are recorded; it is complete where the block ends well.

        Raises:
            StoreError: if they cannot be written.
            ValueError: if the run has ended, or has another accelerator or no such layer.
        """
        self._check_running()
        self._check_problem(info)
        search = self._start_search(info)
        try:
            yield search
        except BaseException:
            with suppress(StoreError):  # the error that is on its way says more
                search.flush()
            raise
        search.end()
        self._found[info.key] = search
        self._note(search)
        if monotonic() - self._committed > SHORTEST:
            self._commit(self._buffer.rows)

    def recall_cme(self, key: str) -> CostModelEvaluation | None:
        """The whole evaluation of a mapping, under any name of its layer, if the store has it."""
        if self._is_fresh:
            return None
        with self._database.use() as connection:
            return read_cme(connection, key)

    def keep_cme(self, key: str, cme: CostModelEvaluation) -> None:
        """Takes in what the run reports of a mapping; under the key it will be found again."""
        self._keys[_mappings(cme)] = key
        self._reported.setdefault(key, cme)

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

    @property
    def _is_fresh(self) -> bool:
        return self.info.recording.fresh

    def _check_running(self) -> None:
        if self.status is not RunStatus.RUNNING:
            raise ValueError(f"run {self.id} is {self.status}; expected a run that is running")

    def _check_problem(self, info: SearchInfo) -> None:
        problem = info.spatial.problem
        if self._layers.get(problem.layer.name) != problem.layer:
            raise ValueError(f"layer {problem.layer.name} is not in the workload of run {self.id}")
        if problem.accelerator.name != self.info.network.accelerator.name:
            raise ValueError(f"{problem.accelerator.name} is not the accelerator of run {self.id}")

    def _number(self, info: SearchInfo) -> int:
        """The id of a search that this run does, the same whenever it is resumed."""
        return int(hashlib.sha256(f"{info.key}:{self.id}".encode()).hexdigest()[:15], 16)

    def _link(self, info: SearchInfo, number: int, recalled: bool) -> None:
        link = {"position": self._position, "search": number, "recalled": recalled}
        name = info.spatial.layer.name
        self._links.append({"run": str(self.id), "layer": name, **link})
        self._position += 1

    def _start_search(self, info: SearchInfo) -> Search:
        number, recorded = self._number(info), 0
        if self._resumed:
            with self._database.use() as connection:
                recorded = count_rows(connection, self.id, number)
        search = Search(info, number, self.info.recording.record, recorded, self._take)
        self._link(info, number, recalled=False)
        self._note(search)
        return search

    def _note(self, search: Search) -> None:
        """The row of the search has to be written with the next commit."""
        if search not in self._unwritten:
            self._unwritten.append(search)

    def _take(self, search: Search, table: pa.Table) -> int:
        """Takes rows of ``evaluation_rows`` in, as many as the limit admits; gives how many."""
        limit = self.info.recording.limit
        if search.mode is RecordMode.ALL and limit is not None:
            table = table.slice(0, max(limit - self._kept, 0))
        self._kept += table.num_rows
        self._buffer.add(search, table)
        if search.has_changed:
            self._note(search)
        if self._buffer.rows >= CHUNK:
            self._commit(self._buffer.rows - self._buffer.rows % CHUNK)
        elif monotonic() - self._committed > LONGEST:
            self._commit(self._buffer.rows)
        return table.num_rows

    def _commit(self, rows: int) -> None:
        """Commits so many of the buffered evaluations, and the searches that are complete then."""
        part = self._buffer.head(rows)
        with self._writing() as connection:
            self._write(connection, part)
        self._forget(part)

    @contextmanager
    def _writing(self) -> Generator[duckdb.DuckDBPyConnection]:
        with self._database.use() as connection:
            with transaction(connection):
                yield connection
            self._after_commit(connection)

    def _write(self, connection: duckdb.DuckDBPyConnection, part: Part) -> None:
        """Writes evaluations, and all that is new about searches."""
        begun = [x for x in self._unwritten if not x.is_written]
        write_accelerators(connection, [x.problem.accelerator for x in begun])
        write_spatial_mappings(connection, [x.problem.spatial_mapping for x in begun])
        complete = [x for x in self._unwritten if x.complete and x not in part.cut]
        rows = [x.row(x in complete) for x in self._unwritten]
        insert(connection, "searches", rows, OnConflict.REPLACE)
        insert(connection, "run_searches", self._links, OnConflict.REPLACE)
        failed = [row for x in complete for row in x.infeasible_rows()]
        insert(connection, "infeasible", failed, OnConflict.REPLACE)
        if part.table is not None:
            connection.register("incoming", part.table)
            connection.execute(_WRITE)
            connection.unregister("incoming")

    def _forget(self, part: Part) -> None:
        """Drops what is committed."""
        for search in self._unwritten:
            search.written()
        self._unwritten = [x for x in self._unwritten if x.complete and x in part.cut]
        self._links = []
        self._buffer.drop(part)
        self._committed = monotonic()

    def _end(
        self, status: RunStatus, reason: str | None, results: NetworkEvaluation | None
    ) -> None:
        let_go(self.id)
        part = self._buffer.head(self._buffer.rows)
        with self._writing() as connection:
            self._write(connection, part)
            if results is not None:
                self._write_results(connection, results)
            if self._resumed:
                drop_unlinked(connection)
            end_run(connection, self.id, status, reason, process_time() - self._cpu)
        self._forget(part)
        self.status = status

    def _write_results(
        self, connection: duckdb.DuckDBPyConnection, results: NetworkEvaluation
    ) -> None:
        keys = self._cme_keys(results.layers)
        named = {keys[x.cme.layer]: x.cme for x in reversed(results.layers)}
        write_cmes(connection, self._reported | named)
        run = str(self.id)
        rows = [result_row(run, i, x, keys[x.cme.layer]) for i, x in enumerate(results.layers)]
        insert(connection, "results", rows)
        vector = [vector_row(run, i, entry) for i, entry in enumerate(results.vector)]
        insert(connection, "vector_results", vector)
        counted = "UPDATE runs SET vector_counted = ? WHERE id = ?"
        connection.execute(counted, [results.vector_counted, self.id])

    def _cme_keys(self, results: tuple[LayerResult, ...]) -> dict[str, str]:
        """The key of what each layer costs; of what nobody has named, the content."""
        keys: dict[str, str] = {}
        for result in results:
            cme = result.cme
            if result.repeats in keys:
                keys[cme.layer] = keys[result.repeats]
            else:
                known = self._keys.get(_mappings(cme))
                keys[cme.layer] = known or replaced(cme, {"layer": ""}).content_hash
        return keys


_Mappings = tuple[str, SpatialMapping, TemporalMapping]


def _mappings(cme: CostModelEvaluation) -> _Mappings:
    """What tells the evaluations of a run apart."""
    return cme.layer, cme.spatial_mapping, cme.temporal_mapping
