"""The store: one DuckDB file with every exploration in it."""

from __future__ import annotations

import socket
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import TypeVar, final
from uuid import UUID, uuid4

from nestmap.model import (
    CostModelEvaluation,
    EvaluationBatch,
    MemoryCost,
    NetworkEvaluation,
    NetworkFront,
    NetworkProblem,
)
from nestmap.model.errors import StoreError
from nestmap.model.multicore.cn_costs import KnownCost
from nestmap.model.multicore.population import Generation
from nestmap.store.connection.checkpoint_repair import mend
from nestmap.store.connection.connect import connect, connect_read_only, take_log
from nestmap.store.connection.database import PATIENCE, Database
from nestmap.store.maintenance.parquet_parts import PartsWriter
from nestmap.store.maintenance.parquet_reader import open_parts
from nestmap.store.read import results as queries
from nestmap.store.read.multicore import RecordedStream, read_stream
from nestmap.store.read.named_queries import Arguments, NamedQuery, ask, named_queries
from nestmap.store.read.relation import Relation
from nestmap.store.read.run_lookup import find_run
from nestmap.store.record.multicore_run import StreamRun
from nestmap.store.record.run import AfterCommit, Run, no_more
from nestmap.store.rows.core_costs import read_costs
from nestmap.store.rows.generations import read_generations
from nestmap.store.rows.memory_costs import CostQuestion, read_memory_cost, write_memory_cost
from nestmap.store.rows.run_records import RunInfo, RunRecord, RunStatus, StreamInfo
from nestmap.store.rows.runs import mark_killed, read_info, read_run, read_runs, read_stream_info
from nestmap.store.schema.migrate import check_schema, migrate

DEFAULT_PATH = Path("nestmap.duckdb")
"""Where results go unless a user names another file."""

Given = TypeVar("Given", Path, Path | None)

AfterCommitOf = Callable[[UUID], AfterCommit]
"""Who wants to know what each run commits."""


def nothing_after(run: UUID) -> AfterCommit:
    """Nobody does."""
    return no_more


@final
class Store:
    """A store that is open; closes itself as a context manager.

    >>> with Store.open(None) as store:
    ...     store.query("SELECT count(*) AS runs FROM runs").rows()
    [{'runs': 0}]
    """

    def __init__(
        self,
        database: Database,
        after_commit: AfterCommitOf = nothing_after,
        written: Path | None = None,
    ) -> None:
        self._database = database
        self._after_commit = after_commit
        self._written = written

    @classmethod
    def open(cls, path: Path | None, patience: float = PATIENCE) -> Store:
        """Opens a store for writing, and makes it if there is none; ``None``: in memory.

        Brings an older schema up to date. Runs of this machine whose process is gone become
        ``interrupted``. The file is free for others whenever nothing is written for a moment;
        ``patience`` is how many seconds to wait for another process that has it open; runs wait
        twelve times as long.

        Raises:
            StoreError: if the file is locked, is not a store, is a newer one, or cannot be written.
        """
        name = "in memory" if path is None else str(path)
        shared = path is not None
        database = Database(name, lambda: connect(_mended(path)), shared, patience)
        with _closed_on_error(database), database.use() as connection:
            migrate(connection, name)
            mark_killed(connection)
        database.wait_longer()  # who writes has something to lose
        return cls(database, written=path)

    @classmethod
    def record_to(cls, folder: Path) -> Store:
        """A store whose runs are written to a folder of Parquet parts, and nowhere else.

        Runs on several machines may write to one folder, and all of them can be read meanwhile.
        What it knows of other runs, for reuse, is what it has done itself.

        Raises:
            StoreError: if the folder cannot be made or written.
        """
        database = Database(str(folder), lambda: connect(None), False, 0)
        with _closed_on_error(database), database.use() as connection:
            migrate(connection, str(folder))
        return cls(database, lambda run: PartsWriter(folder, run).write)

    @classmethod
    def open_read_only(cls, path: Path, patience: float = PATIENCE) -> Store:
        """Opens a store that can only be read, also while a run is writing to it.

        What is read is what was committed last. ``patience`` is how many seconds to wait for
        another process that has the file open. ``path`` may be a folder of Parquet parts: they
        are read as they are now.

        Raises:
            StoreError: if there is no file, it stays locked, or it is not a store.
        """
        parts = path.is_dir()
        opening = open_parts if parts else connect_read_only
        database = Database(str(path), lambda: opening(_mended(path)), not parts, patience)
        with _closed_on_error(database), database.use() as connection:
            check_schema(connection, str(path))
        return cls(database)

    @staticmethod
    @contextmanager
    def borrow(store: Store | Path | str) -> Generator[Store]:
        """A store that is given, or one that is opened at a path and closed again.

        Raises:
            StoreError: if it cannot be opened.
        """
        if isinstance(store, Store):
            yield store
            return
        with Store.open(Path(store)) as opened:
            yield opened

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
        self._database.close()
        if self._written is not None:
            take_log(self._written)

    def start_run(self, info: RunInfo) -> Run:
        """Begins a run; call it when all input is known to be right.

        Raises:
            StoreError: if it cannot be written.
        """
        identity = uuid4()
        return Run(self._database, info, identity, after_commit=self._after_commit(identity))

    def resume_run(self, run: UUID) -> Run:
        """Goes on with a run that was interrupted or has failed; what it has found is recalled.

        Raises:
            StoreError: if there is no such run, it is done, or its process is still at it.
        """
        with self._database.use() as connection:
            mark_killed(connection)
            record, info = read_run(connection, run), read_info(connection, run)
        _check_resumable(record)
        return Run(self._database, info, run, resumed=True, after_commit=self._after_commit(run))

    def start_stream(self, info: StreamInfo) -> StreamRun:
        """Begins a run of several cores; call it when all input is known to be right.

        Raises:
            StoreError: if it cannot be written.
        """
        identity = uuid4()
        return StreamRun(self._database, info, identity, after_commit=self._after_commit(identity))

    def resume_stream(self, run: UUID) -> StreamRun:
        """Goes on with a run of several cores that was interrupted or has failed.

        Raises:
            StoreError: if there is no such run, it is done, or its process is still at it.
        """
        with self._database.use() as connection:
            mark_killed(connection)
            record, info = read_run(connection, run), read_stream_info(connection, run)
        _check_resumable(record)
        after = self._after_commit(run)
        return StreamRun(self._database, info, run, resumed=True, after_commit=after)

    def query(self, sql: str, parameters: Sequence[queries.Value] = ()) -> Relation:
        """The answer to a question in SQL; ``?`` in it stand for the parameters, in order.

        Raises:
            StoreError: with DuckDB's own words, if the question is not valid.
        """
        with self._database.use() as connection:
            return queries.query(connection, sql, parameters)

    def named_queries(self) -> tuple[NamedQuery, ...]:
        """The questions that come with nestmap, which :meth:`ask` answers."""
        with self._database.use() as connection:
            return named_queries(connection)

    def ask(self, name: str, arguments: Arguments | None = None) -> Relation:
        """The answer to a named query: ``store.ask("pareto", {Parameter.RUN: run})``.

        Raises:
            StoreError: if there is none of that name, a parameter is missing or not wanted, there
                is no such run, or its workload has no such layer.
        """
        with self._database.use() as connection:
            return ask(connection, name, arguments or {})

    def find_run(self, text: str) -> UUID:
        """The run that ``text`` names: ``last``, its id, or as much of its beginning as is unique.

        Raises:
            StoreError: if there is none, or several.
        """
        with self._database.use() as connection:
            return find_run(connection, text)

    def runs(self) -> tuple[RunRecord, ...]:
        """All runs, oldest first."""
        with self._database.use() as connection:
            return read_runs(connection)

    def run(self, run: UUID) -> RunRecord:
        """One run.

        Raises:
            StoreError: if there is no such run.
        """
        with self._database.use() as connection:
            return read_run(connection, run)

    def info(self, run: UUID) -> RunInfo:
        """What a run was asked, in full.

        Raises:
            StoreError: if there is no such run.
        """
        with self._database.use() as connection:
            return read_info(connection, run)

    def stream_info(self, run: UUID) -> StreamInfo:
        """What a run of several cores was asked, in full.

        Raises:
            StoreError: if there is no such run, or it is not one of several cores.
        """
        with self._database.use() as connection:
            return read_stream_info(connection, run)

    def stream(self, run: UUID) -> RecordedStream:
        """What a run of several cores has found so far: its front, and what it reports.

        Raises:
            StoreError: if there is no such run, or it is not one of several cores.
        """
        with self._database.use() as connection:
            return read_stream(connection, run)

    def generations(self, run: UUID) -> tuple[Generation, ...]:
        """All generations of a run of several cores, the first one first.

        Raises:
            StoreError: if there is no such run, or it is not one of several cores.
        """
        with self._database.use() as connection:
            read_stream_info(connection, run)
            return read_generations(connection, run)

    def problem(self, run: UUID) -> NetworkProblem:
        """The network, accelerator and constraints of a run.

        Raises:
            StoreError: if there is no such run.
        """
        return self.info(run).network

    def best(self, run: UUID) -> NetworkEvaluation:
        """The results of a finished run, equal to what was written.

        Raises:
            StoreError: if there is no such run, or it has no results.
        """
        with self._database.use() as connection:
            return queries.read_results(connection, run)

    def pareto(self, run: UUID) -> NetworkFront:
        """Of each layer of a run the mappings that no other one beats in energy and latency.

        Of what it has evaluated: of a run that goes on or was interrupted, so far.

        Raises:
            StoreError: if there is no such run, or nothing is known of it.
        """
        with self._database.use() as connection:
            return queries.read_fronts(connection, run)

    def evaluations(self, run: UUID, layer: str) -> tuple[EvaluationBatch, ...]:
        """The recorded evaluations of a layer in a run, in batches, a search after the other.

        A search is one spatial mapping. The statistics of its first batch count all that it
        evaluated and what failed.

        Raises:
            StoreError: if there is no such run, or its workload has no such layer.
        """
        with self._database.use() as connection:
            return queries.read_evaluations(connection, run, layer)

    def evaluation(self, name: str) -> CostModelEvaluation:
        """A recorded evaluation in full: what the cost model says of it, computed again.

        ``name`` is the ``id`` in the view ``evaluations``.

        Raises:
            StoreError: if there is none with that name.
        """
        with self._database.use() as connection:
            return queries.read_evaluation(connection, name)

    def core_costs(self, keys: Sequence[str]) -> Mapping[str, KnownCost]:
        """What nodes cost on cores, of those keys that any run of several cores has found."""
        with self._database.use() as connection:
            return read_costs(connection, keys)

    def memory_cost(self, question: CostQuestion) -> MemoryCost | None:
        """What a tool has said of a memory before, if it was asked."""
        with self._database.use() as connection:
            return read_memory_cost(connection, question)

    def keep_memory_cost(self, question: CostQuestion, cost: MemoryCost) -> None:
        """Keeps what a tool says of a memory.

        Raises:
            StoreError: if it cannot be written.
        """
        with self._database.use() as connection:
            write_memory_cost(connection, question, cost)


def _check_resumable(record: RunRecord) -> None:
    """Checks that a run can be gone on with."""
    if record.status is RunStatus.DONE:
        raise StoreError(
            f"run {record.id}: it is done; expected one that was interrupted or failed"
        )
    if record.status is RunStatus.RUNNING and record.host == socket.gethostname():
        raise StoreError(
            f"run {record.id}: process {record.pid} is still running it; expected one that was "
            "interrupted or failed: wait until it ends, or end it"
        )


def _mended(path: Given) -> Given:
    """A file that can be read again, should a process have been killed that was writing it."""
    if path is not None:
        mend(path)
    return path


@contextmanager
def _closed_on_error(database: Database) -> Generator[None]:
    try:
        yield
    except BaseException:
        database.close()
        raise
