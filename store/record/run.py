"""A run being recorded: its evaluations by columns, a transaction a row group, then its results."""

from __future__ import annotations

import hashlib
from collections.abc import Generator
from contextlib import contextmanager, suppress
from time import monotonic, process_time
from typing import NamedTuple, final
from uuid import UUID

import duckdb
import pyarrow as pa

from nestmap.model import (
    CostModelEvaluation,
    EvaluationBatch,
    LayerResult,
    NetworkEvaluation,
    SearchStatistics,
    SpatialMapping,
    SpatialProblem,
    StoreError,
    TemporalMapping,
)
from nestmap.model.base import copy_with
from nestmap.store.connection.database import Database
from nestmap.store.read.completed_searches import (
    CompletedSearch,
    SearchScope,
    read_completed_search,
    read_completed_searches,
)
from nestmap.store.read.explored_layers import ExploredLayer, read_explored_layers
from nestmap.store.record.lifecycle import StartedRun
from nestmap.store.record.search import Search
from nestmap.store.rows.cmes import read_cme, write_cmes
from nestmap.store.rows.content import (
    OnConflict,
    Row,
    insert,
    result_row,
    vector_row,
    write_accelerators,
    write_layers,
    write_spatial_mappings,
)
from nestmap.store.rows.run_records import LayerInfo, RecordedNumbers, RunInfo, SearchInfo
from nestmap.store.rows.runs import delete_unlinked_searches, recorded_numbers

# --- when evaluations that wait to be written are committed ---

ROW_GROUP = 122_880
"""Evaluations committed together, or a multiple: DuckDB's row group.

It writes these straight to the file; a few rows more and it takes twice the time and the room.
"""

MIN_COMMIT_INTERVAL = 1.0
"""Seconds since the last commit after which the end of a search is committed."""

MAX_COMMIT_INTERVAL = 5.0
"""Seconds after which all that waits is committed, also in the middle of a search."""


@final
class CommitPolicy:
    """When to commit, by the number of evaluations that wait and the time since the last commit."""

    def __init__(self) -> None:
        self.restart()

    def restart(self) -> None:
        """Something was committed."""
        self._last = monotonic()

    def due(self, waiting: int) -> int | None:
        """How many of the evaluations to commit in the middle of a search; ``None``: no commit."""
        if waiting >= ROW_GROUP:
            return waiting - waiting % ROW_GROUP
        return waiting if self._elapsed > MAX_COMMIT_INTERVAL else None

    @property
    def is_due_after_search(self) -> bool:
        """Whether to commit where a search has ended."""
        return self._elapsed > MIN_COMMIT_INTERVAL

    @property
    def _elapsed(self) -> float:
        return monotonic() - self._last


# --- what a run need not compute again ---


class Reused(NamedTuple):
    """A search that need not be done again: its id, and its front with the statistics of all.

    It is not ``recalled`` where it is one that the run itself did before it was interrupted.
    """

    id: int
    batches: tuple[EvaluationBatch, ...]
    recalled: bool


@final
class ReuseCache:
    """Completed searches, and evaluations in full.

    What other runs have recorded counts as of the first question, and not at all where the run is
    to compute everything again.
    """

    def __init__(self, database: Database, info: RunInfo) -> None:
        self._database = database
        self._info = info
        self._done: dict[str, Search] = {}
        self._known: dict[tuple[str, str], dict[str, CompletedSearch]] = {}

    def add(self, search: Search) -> None:
        """Keeps a search that this run has completed."""
        self._done[search.info.key] = search

    def find(self, info: SearchInfo, number: int) -> Reused | None:
        """The result of a search, if it is known; ``number`` is the id it has in this run.

        Raises:
            StoreError: if the store cannot be read.
        """
        if info.key in self._done:
            done = self._done[info.key]
            return Reused(done.id, done.front(), recalled=True)
        known = self._read_own(number) if self._is_fresh else self._read_known(info)
        if known is None:
            return None
        return Reused(known.id, known.batches(info.spatial), recalled=known.id != number)

    def find_cme(self, key: str) -> CostModelEvaluation | None:
        """The whole evaluation of a mapping, under any name of its layer, if the store has it."""
        if self._is_fresh:
            return None
        with self._database.use() as connection:
            return read_cme(connection, key)

    @property
    def _is_fresh(self) -> bool:
        return self._info.recording.fresh

    def _read_own(self, number: int) -> CompletedSearch | None:
        """A search that this run itself has completed before it was interrupted."""
        with self._database.use() as connection:
            return read_completed_search(connection, number)

    def _read_known(self, info: SearchInfo) -> CompletedSearch | None:
        """A search of any run, completed before this run first asked for one like it."""
        kind = info.spatial.accelerator.content_hash, info.options
        if kind not in self._known:
            workload = self._info.network.workload.content_hash
            scope = SearchScope(workload, *kind, self._info.recording)
            with self._database.use() as connection:
                self._known[kind] = read_completed_searches(connection, scope)
        return self._known[kind].get(info.key)


# --- the layers that a run has explored, and those that finished runs have explored before ---


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


# --- the results of a run, each with the key under which its evaluation is found again ---

_TOTAL = "UPDATE runs SET vector_counted = ?, on_chip = ? WHERE id = ?"

_Mappings = tuple[str, SpatialMapping, TemporalMapping]


@final
class ReportedResults:
    """Evaluations that a run reports in full."""

    def __init__(self) -> None:
        self._keys: dict[_Mappings, str] = {}
        self._reported: dict[str, CostModelEvaluation] = {}
        self._seconds: dict[str, float] = {}

    def add(self, key: str, cme: CostModelEvaluation) -> None:
        """Keeps what the run reports of a mapping."""
        self._keys[_mappings(cme)] = key
        self._reported.setdefault(key, cme)

    def add_time(self, layer: str, cpu_seconds: float) -> None:
        """Adds to the processor time that the run has spent on a layer."""
        self._seconds[layer] = self._seconds.get(layer, 0.0) + cpu_seconds

    def write(
        self, connection: duckdb.DuckDBPyConnection, run: UUID, results: NetworkEvaluation
    ) -> None:
        """Writes the results of a run."""
        keys = self._keys_of(results.layers)
        named = {keys[x.cme.layer]: x.cme for x in reversed(results.layers)}
        write_cmes(connection, self._reported | named)
        rows = [
            result_row(str(run), i, x, keys[x.cme.layer], self._seconds.get(x.cme.layer))
            for i, x in enumerate(results.layers)
        ]
        insert(connection, "results", rows)
        vector = [vector_row(str(run), i, entry) for i, entry in enumerate(results.vector)]
        insert(connection, "vector_results", vector)
        on_chip = results.on_chip and results.on_chip.model_dump_json()
        connection.execute(_TOTAL, [results.vector_counted, on_chip, run])

    def _keys_of(self, results: tuple[LayerResult, ...]) -> dict[str, str]:
        """The key of what each layer costs; where none was given, the hash of its content."""
        keys: dict[str, str] = {}
        for result in results:
            cme = result.cme
            if result.repeats in keys:
                keys[cme.layer] = keys[result.repeats]
            else:
                known = self._keys.get(_mappings(cme))
                is_known = known is not None and _unnamed(self._reported[known]) == _unnamed(cme)
                keys[cme.layer] = known if known and is_known else _unnamed(cme).content_hash
        return keys


def _unnamed(cme: CostModelEvaluation) -> CostModelEvaluation:
    """An evaluation under any name; a sum over tiles has the mapping of one of them."""
    return copy_with(cme, {"layer": ""})


def _mappings(cme: CostModelEvaluation) -> _Mappings:
    """What tells the evaluations of a run apart."""
    return cme.layer, cme.spatial_mapping, cme.temporal_mapping


# --- evaluations that wait to be written, in the order in which they came ---


class Part(NamedTuple):
    """The first of the buffered rows: how many, and the searches that have more."""

    rows: int
    table: pa.Table | None
    cut: tuple[Search, ...]


@final
class Buffer:
    """Rows of ``evaluation_rows`` with the searches that they belong to."""

    def __init__(self) -> None:
        self.rows = 0
        self._entries: list[tuple[Search, pa.Table]] = []

    def add(self, search: Search, table: pa.Table) -> None:
        """Takes rows in."""
        if table.num_rows:
            self._entries.append((search, table))
            self.rows += table.num_rows

    def head(self, rows: int) -> Part:
        """The first so many rows; they stay in the buffer."""
        if not rows:
            return Part(0, None, tuple(search for search, _ in self._entries))
        first, left = self._split(rows)
        # in one piece: of many, DuckDB's threads make row groups that are not full
        table = pa.concat_tables([table for _, table in first]).combine_chunks()
        return Part(rows, table, tuple(search for search, _ in left))

    def drop(self, part: Part) -> None:
        """Drops the rows of a part."""
        self._entries = self._split(part.rows)[1]
        self.rows -= part.rows

    def _split(
        self, rows: int
    ) -> tuple[list[tuple[Search, pa.Table]], list[tuple[Search, pa.Table]]]:
        first: list[tuple[Search, pa.Table]] = []
        left: list[tuple[Search, pa.Table]] = []
        for search, table in self._entries:
            count = min(rows, table.num_rows)
            rows -= count
            if count:
                first.append((search, table.slice(0, count)))
            if count < table.num_rows:
                left.append((search, table.slice(count)))
        return first, left


# --- a run being recorded ---

_WRITE = "INSERT INTO evaluation_rows BY NAME SELECT * FROM incoming"


@final
class Run(StartedRun):
    """A run on a single core that is being recorded: its searches, and at the end its results."""

    MISSING = "results"

    def __init__(
        self, database: Database, info: RunInfo, identity: UUID, resumed: bool = False
    ) -> None:
        self.info = info
        self._resumed = resumed
        self._reuse = ReuseCache(database, info)
        self._explored = ExploredLayers(database, info)
        self._results = ReportedResults()
        self._layers = {layer.name: layer for layer in info.network.workload.layers}
        self._position = 0
        self._unwritten: list[Search] = []
        self._links: list[Row] = []
        self._searched: list[tuple[int, SpatialProblem, int]] = []
        self._buffer = Buffer()
        super().__init__(database, info, identity, resumed)
        self._policy = CommitPolicy()

    def find_search(self, info: SearchInfo) -> tuple[EvaluationBatch, ...] | None:
        """What a search has found that the store knows already; ``None``: it has to be done.

        These are the evaluations that no other one of the search beats, in order, so the best by
        any objective and the front are the same as of all of them. The first batch has the
        statistics of the whole search.

        Raises:
            StoreError: if the store cannot be read.
        """
        known = self._reuse.find(info, self._number(info.key))
        if known is None:
            return None
        self._link(info, known.id, known.recalled)
        return known.batches

    @property
    def position(self) -> int:
        """The number of searches that the run has done or reused."""
        return self._position

    def find_layer(self, info: LayerInfo) -> ExploredLayer | None:
        """What finished runs found for a layer; ``None``: it has to be explored.

        Raises:
            StoreError: if the store cannot be read.
        """
        known = self._explored.find(info)
        if known is None:
            return None
        first = self._position
        for number, key in known.searches:
            self._add_link(info.problem.layer.name, number, number != self._number(key))
        positions = range(first, self._position)
        self._explored.add(info, positions, known.best.id, known.statistics)
        return known

    def record_layer(self, info: LayerInfo, first: int, found: EvaluationBatch) -> None:
        """Takes in what a layer's searches from position ``first`` on have found: the best row.

        Later runs reuse it, once this run is finished.
        """
        best = {
            number
            for position, spatial, number in self._searched
            if position >= first and spatial == found.mappings.problem
        }
        if len(best) == 1 and len(found):
            positions = range(first, self._position)
            self._explored.add(info, positions, best.pop(), found.statistics)

    @contextmanager
    def record_search(self, info: SearchInfo) -> Generator[Search]:
        """A search whose evaluations are recorded; it is complete where the block ends well.

        Raises:
            StoreError: if they cannot be written.
            ValueError: if the run has ended, or has another accelerator or no such layer.
        """
        self.check_running()
        self._check_problem(info)
        search = self._start_search(info)
        try:
            yield search
        except BaseException:
            with suppress(StoreError):  # the error that is on its way says more
                search.flush()
            raise
        search.end()
        self._reuse.add(search)
        self._note(search)
        if self._policy.is_due_after_search:
            self._commit(self._buffer.rows)

    def find_cme(self, key: str) -> CostModelEvaluation | None:
        """The whole evaluation of a mapping, under any name of its layer, if the store has it."""
        return self._reuse.find_cme(key)

    def report_cme(self, key: str, cme: CostModelEvaluation) -> None:
        """Takes in what the run reports of a mapping; under the key it will be found again."""
        self._results.add(key, cme)

    @contextmanager
    def timing(self, layer: str) -> Generator[None]:
        """Counts the processor time of the block as time that the run spends on a layer."""
        start = process_time()
        yield
        self._results.add_time(layer, process_time() - start)

    def finish(self, results: NetworkEvaluation) -> None:
        """Writes what is pending and the results, and ends the run as ``done``.

        Raises:
            StoreError: if they cannot be written.
            ValueError: if the run has ended already.
        """

        def write(connection: duckdb.DuckDBPyConnection) -> None:
            self._write_rest(connection)
            self._results.write(connection, self.id, results)
            self._explored.write(connection, self.id)

        self._finish(write)

    def _check_problem(self, info: SearchInfo) -> None:
        problem = info.spatial.problem
        layer, known = problem.layer, self._layers.get(problem.layer.name)
        padding = {x.dimension: x.padded for x in layer.padding}
        if known is None or (known.padded(padding) != layer and not layer.is_part_of(known)):
            raise ValueError(f"layer {layer.name} is not in the workload of run {self.id}")
        if problem.accelerator.name != self.info.network.accelerator.name:
            raise ValueError(f"{problem.accelerator.name} is not the accelerator of run {self.id}")

    def _number(self, key: str) -> int:
        """The id of a search that this run does, the same whenever it is resumed."""
        return int(hashlib.sha256(f"{key}:{self.id}".encode()).hexdigest()[:15], 16)

    def _link(self, info: SearchInfo, number: int, recalled: bool) -> None:
        self._searched.append((self._position, info.spatial, number))
        self._add_link(info.spatial.layer.name, number, recalled)

    def _add_link(self, layer: str, number: int, recalled: bool) -> None:
        link = {"position": self._position, "search": number, "recalled": recalled}
        self._links.append({"run": str(self.id), "layer": layer, **link})
        self._position += 1

    def _start_search(self, info: SearchInfo) -> Search:
        number, recorded = self._number(info.key), RecordedNumbers()
        if self._resumed:
            with self.reading() as connection:
                recorded = recorded_numbers(connection, number)
        search = Search(info, number, self.info.recording, recorded, self._take)
        self._link(info, number, recalled=False)
        self._note(search)
        return search

    def _note(self, search: Search) -> None:
        """The row of the search has to be written with the next commit."""
        if search not in self._unwritten:
            self._unwritten.append(search)

    def _take(self, search: Search, table: pa.Table) -> None:
        """Takes rows of ``evaluation_rows`` in."""
        self._buffer.add(search, table)
        if search.has_changed:
            self._note(search)
        due = self._policy.due(self._buffer.rows)
        if due is not None:
            self._commit(due)

    def _commit(self, rows: int) -> None:
        """Commits so many of the buffered evaluations, and the searches that are complete then."""
        part = self._buffer.head(rows)
        with self.writing(lambda: self._forget(part)) as connection:
            self._write(connection, part)

    def _write_rest(self, connection: duckdb.DuckDBPyConnection) -> None:
        self._write(connection, self._buffer.head(self._buffer.rows))
        if self._resumed:
            delete_unlinked_searches(connection)

    def _write(self, connection: duckdb.DuckDBPyConnection, part: Part) -> None:
        """Writes evaluations, and all that is new about searches."""
        begun = [x for x in self._unwritten if not x.is_written]
        layers = (x.problem.layer for x in begun)  # padded ones and tiles are not in the workload
        write_layers(connection, [x for x in layers if x != self._layers.get(x.name)])
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
        self._policy.restart()
