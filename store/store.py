"""The store: recorded explorations in one DuckDB file."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, TypeVar, final
from uuid import UUID, uuid4

from nestmap.model.errors import InputError, StoreError, check_kind
from nestmap.store import read, record, rows
from nestmap.store.connection.checkpoint_repair import repair_checkpoint
from nestmap.store.connection.connect import (
    checkpoint_log,
    connect,
    connect_read_only,
    restrict,
    transaction,
)
from nestmap.store.connection.database import PATIENCE, Database
from nestmap.store.read import sql as sql_queries
from nestmap.store.read.named_queries import (
    Arguments,
    NamedQuery,
    ask,
    ask_sql,
    find_query,
    named_queries,
)
from nestmap.store.read.relation import Relation
from nestmap.store.read.run_lookup import find_run
from nestmap.store.rows.run_kinds import RunStatus
from nestmap.store.schema.migrate import check_schema, check_tables, migrate

if TYPE_CHECKING:  # loaded when a method uses them: an SQL query needs none of them
    from nestmap.model import (
        CostModelEvaluation,
        EvaluationBatch,
        MemoryCost,
        NetworkEvaluation,
        NetworkFront,
        NetworkProblem,
        Recording,
    )
    from nestmap.model.design_space.result import DesignResult
    from nestmap.model.multicore.allocation import Generation
    from nestmap.model.multicore.cn_costs import RecordedCost
    from nestmap.store.read.explored_layers import ExploredLayer
    from nestmap.store.read.results import RecordedStream
    from nestmap.store.read.searches import SearchCosts
    from nestmap.store.record.multicore_run import StreamRun
    from nestmap.store.record.run import Run
    from nestmap.store.record.sweep import RecordedSweep
    from nestmap.store.rows.memory_costs import CostQuestion
    from nestmap.store.rows.run_records import RunInfo, RunRecord, StreamInfo
    from nestmap.store.rows.sweeps import SweepInfo, SweepRecord

DEFAULT_PATH = Path("nestmap.duckdb")
"""The default store file."""

_A_PATH = "the path of a store"
PathOrNone = TypeVar("PathOrNone", Path, Path | None)


@final
class Store:
    """An open store; a context manager that closes it.

    >>> with Store.open(None) as store:
    ...     store.query("SELECT count(*) AS runs FROM runs").rows()
    [{'runs': 0}]
    """

    def __init__(self, database: Database, written: Path | None = None) -> None:
        self._database = database
        self._written = written

    @classmethod
    def open(cls, path: Path | None, patience: float = PATIENCE) -> Store:
        """Opens a store for writing, and creates it if necessary; ``None``: in memory.

        Migrates an older schema. Runs of this machine whose process no longer exists become
        ``interrupted``. The file is released whenever nothing is written for a moment; ``patience``
        is how many seconds to wait for another process that has it open; runs wait twelve times as
        long.

        Raises:
            InputError: if the path is none.
            StoreError: if the file is locked, is not a store, is a newer one, or cannot be written.
        """
        path = None if path is None else _path(path)
        if path is not None and not path.name:
            raise InputError("store", repr(str(path)), _A_PATH)
        database = Database(path, lambda: connect(_repaired(path)), patience)
        with _close_on_error(database), database.use() as connection:
            migrate(connection, database.name)
            if path is not None:
                restrict(connection, path)
            rows.run_processes.mark_interrupted(connection)
        database.extend_patience()  # giving up would lose work
        return cls(database, written=path)

    @classmethod
    def open_read_only(
        cls,
        path: Path,
        patience: float = PATIENCE,
        time_limit: float | None = None,
        memory: int | None = None,
    ) -> Store:
        """Opens a store for reading, even while a run is writing to it.

        Readers see the last commit. ``patience`` is how many seconds to wait for another process
        that has the file open. Reading that takes longer than ``time_limit`` (s) is
        interrupted, and uses at most ``memory`` (MB).

        Raises:
            InputError: if the path is none.
            StoreError: if there is no file, it stays locked, or it is not a store.
        """
        path = _path(path)

        opening = partial(connect_read_only, memory=memory)
        database = Database(path, lambda: opening(_repaired(path)), patience, time_limit)
        with _close_on_error(database), database.use() as connection:
            check_schema(connection, str(path))
            check_tables(connection, str(path))
        return cls(database)

    @classmethod
    @contextmanager
    def borrow(cls, store: Store | Path | str) -> Generator[Store]:
        """A store that is given, and stays open; or one opened at a path, and closed again.

        Raises:
            InputError: if it is neither.
            StoreError: where it cannot be opened.
        """
        if isinstance(store, Store):
            yield store
            return
        with cls.open(_path(store)) as target:
            yield target

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
        """Closes the file; end runs first, or they stay recorded as running."""
        self._database.close()
        if self._written is not None:
            checkpoint_log(self._written)

    def start_run(self, info: RunInfo) -> Run:
        """Starts recording a single-core run; call it once all input is validated.

        Raises:
            StoreError: if it cannot be written.
        """
        identity = uuid4()
        return record.run.Run(self._database, info, identity)

    def resume_run(self, run: UUID) -> Run:
        """Resumes a run that was interrupted or failed; what it recorded is reused.

        Raises:
            StoreError: if there is no such run, it is done, or its process may still be running.
        """
        with self._database.read() as connection:
            rows.run_processes.mark_interrupted(connection)
            known, info = rows.runs.read_run(connection, run), rows.runs.read_info(connection, run)
        _check_resumable(known)
        return record.run.Run(self._database, info, run, resumed=True)

    def release_run(self, run: UUID) -> None:
        """Marks a run as interrupted whose process is gone, although this machine cannot know.

        Another machine ran it, or its process id is used again. A run that is not running stays as
        it is.

        Raises:
            StoreError: if there is no such run, or its process certainly exists.
        """
        with self._database.use() as connection:
            rows.run_processes.release_run(connection, rows.runs.read_run(connection, run))

    def start_stream(self, info: StreamInfo) -> StreamRun:
        """Starts recording a multi-core run; call it once all input is validated.

        Raises:
            StoreError: if it cannot be written.
        """
        identity = uuid4()
        return record.multicore_run.StreamRun(self._database, info, identity)

    def resume_stream(self, run: UUID) -> StreamRun:
        """Resumes a multi-core run that was interrupted or failed.

        Raises:
            StoreError: if there is no such run, it is done, or its process may still be running.
        """
        with self._database.read() as connection:
            rows.run_processes.mark_interrupted(connection)
            known, info = (
                rows.runs.read_run(connection, run),
                rows.runs.read_stream_info(connection, run),
            )
        _check_resumable(known)
        return record.multicore_run.StreamRun(self._database, info, run, resumed=True)

    def start_sweep(self, info: SweepInfo) -> RecordedSweep:
        """Starts recording a sweep, or continues one that is recorded already.

        Raises:
            StoreError: if it cannot be written.
        """
        return record.sweep.RecordedSweep(self._database, info)

    def remove_runs_of_no_design(self, sweep: str, tag: str) -> None:
        """Removes the runs with a tag that belong to no design that a sweep has recorded.

        These are the interrupted ones, and those of a design that was in hand: it goes on there.

        Raises:
            StoreError: if the store cannot be written.
        """
        with self._database.use() as connection, transaction(connection):
            rows.runs.delete_runs_of_no_design(connection, sweep, tag)

    def sweeps(self) -> tuple[SweepRecord, ...]:
        """All sweeps, the one that was started last first."""
        with self._database.read() as connection:
            return read.sweeps.read_sweeps(connection)

    def find_sweep(self, text: str) -> SweepRecord:
        """The sweep that ``text`` names: ``last``, its name, or the beginning of its key.

        Of several with one name, the one that was started last.

        Raises:
            StoreError: if there is none.
        """
        with self._database.read() as connection:
            return read.sweeps.find_sweep(connection, text)

    def sweep_designs(
        self, sweep: SweepRecord, positions: Sequence[int] | None = None
    ) -> tuple[DesignResult, ...]:
        """The rows of a sweep at some positions, in this order, or all that are recorded."""
        with self._database.read() as connection:
            if positions is None:
                every = range(sweep.state.designs * len(sweep.info.mapped_for))
                return tuple(read.sweeps.read_designs(connection, sweep, every))
            return tuple(read.sweeps.read_some_designs(connection, sweep, positions))

    def sweep_design(self, sweep: SweepRecord, number: int) -> tuple[DesignResult, ...]:
        """The rows of the design with a number; none if the sweep has no such design."""
        with self._database.read() as connection:
            return tuple(read.sweeps.read_design(connection, sweep, number))

    def query(
        self,
        sql: str,
        parameters: Sequence[sql_queries.Value] | Mapping[str, sql_queries.Value] = (),
    ) -> Relation:
        """The result of an SQL query, with its parameters bound.

        The parameters are values of the ``?`` in order, or of names: ``{"run": run}`` of ``$run``.

        Raises:
            StoreError: with DuckDB's message, if the query is not valid.
        """
        with self._database.use() as connection:
            return sql_queries.query(connection, sql, parameters)

    def query_about(self, sql: str, arguments: Arguments) -> Relation:
        """The result of an SQL query with ``$run``, ``$against``, ``$layer`` or ``$k`` bound.

        Runs are given as in :meth:`ask`; ``$run`` is the last one if it is not given.

        Raises:
            StoreError: if the query is not valid, an argument is not in it or missing, or there is
                no such run.
        """
        with self._database.use() as connection:
            return ask_sql(connection, sql, arguments)

    def named_queries(self) -> tuple[NamedQuery, ...]:
        """The named queries, which :meth:`ask` answers."""
        with self._database.use() as connection:
            return named_queries(connection)

    def named_query(self, name: str) -> NamedQuery:
        """The named query or the view of runs with that name.

        Raises:
            StoreError: if there is none.
        """
        with self._database.use() as connection:
            return find_query(connection, name)

    def ask(self, name: str, arguments: Arguments | None = None) -> Relation:
        """The answer to a named query: ``store.ask("pareto", {Parameter.RUN: "5f3a91"})``.

        A run is its id, a unique beginning of it, its name, or ``last``, which is also the run if
        none is given. ``name`` may be a view whose rows belong to runs, such as ``best``.

        Raises:
            StoreError: if there is none of that name, a parameter is missing or unknown, there
                is no such run, or its workload has no such layer.
        """
        with self._database.use() as connection:
            return ask(connection, name, arguments or {})

    def find_run(self, text: str) -> UUID:
        """The run that ``text`` names: ``last``, its id, a unique beginning of it, or its name.

        Raises:
            StoreError: if there is none, or several.
        """
        with self._database.use() as connection:
            return find_run(connection, text)

    def runs(self) -> tuple[RunRecord, ...]:
        """All runs, oldest first."""
        with self._database.read() as connection:
            return rows.runs.read_runs(connection)

    def run(self, run: UUID) -> RunRecord:
        """One run.

        Raises:
            StoreError: if there is no such run.
        """
        with self._database.read() as connection:
            return rows.runs.read_run(connection, run)

    def info(self, run: UUID) -> RunInfo:
        """The description of a single-core run.

        Raises:
            StoreError: if there is no such run, or it is a multi-core run.
        """
        with self._database.read() as connection:
            return rows.runs.read_info(connection, run)

    def stream_info(self, run: UUID) -> StreamInfo:
        """The description of a multi-core run.

        Raises:
            StoreError: if there is no such run, or it is a single-core run.
        """
        with self._database.read() as connection:
            return rows.runs.read_stream_info(connection, run)

    def stream(self, run: UUID) -> RecordedStream:
        """The state of the search of a multi-core run: its front, and the reported allocation.

        Raises:
            StoreError: if there is no such run, or it is a single-core run.
        """
        with self._database.read() as connection:
            return read.results.read_stream(connection, run)

    def generations(self, run: UUID) -> tuple[Generation, ...]:
        """All generations of a multi-core run, oldest first.

        Raises:
            StoreError: if there is no such run, or it is a single-core run.
        """
        with self._database.read() as connection:
            rows.runs.read_stream_info(connection, run)
            return rows.generations.read_generations(connection, run)

    def problem(self, run: UUID) -> NetworkProblem:
        """The network, accelerator and constraints of a single-core run.

        Raises:
            StoreError: if there is no such run, or it is a multi-core run.
        """
        return self.info(run).network

    def best(self, run: UUID) -> NetworkEvaluation:
        """The results of a finished run, equal to those recorded.

        Raises:
            StoreError: if there is no such run, or it has no results.
        """
        with self._database.read() as connection:
            return read.results.read_results(connection, run)

    def pareto(self, run: UUID) -> NetworkFront:
        """The Pareto front in energy and latency of each layer of a run.

        While a run is running, or after an interruption, the fronts so far.

        Raises:
            StoreError: if there is no such run, or it has no evaluations.
        """
        with self._database.read() as connection:
            return read.results.read_fronts(connection, run)

    def evaluations(self, run: UUID, layer: str) -> tuple[EvaluationBatch, ...]:
        """The recorded evaluations of a layer in a run, in batches, search by search.

        A search covers one spatial mapping. The statistics of its first batch count all its
        evaluations and rejected candidates.

        Raises:
            StoreError: if there is no such run, or its workload has no such layer.
        """
        with self._database.read() as connection:
            return read.results.read_evaluations(connection, run, layer)

    def costs(self, run: UUID, layer: str) -> tuple[SearchCosts, ...]:
        """What the recorded mappings of a layer in a run cost, search by search.

        Their loops are left out, which makes it much faster than :meth:`evaluations`.

        Raises:
            StoreError: if there is no such run, or its workload has no such layer.
        """
        with self._database.read() as connection:
            return read.results.read_layer_costs(connection, run, layer)

    def evaluation(self, name: str) -> CostModelEvaluation:
        """A recorded evaluation in full, recomputed by the cost model.

        ``name`` is the ``id`` in the view ``evaluations``.

        Raises:
            StoreError: if there is none with that name.
        """
        with self._database.read() as connection:
            return read.results.read_evaluation(connection, name)

    def explored_layers(self, method: str, recording: Recording) -> Mapping[str, ExploredLayer]:
        """The layers that finished runs have explored with a method, by the keys of their problems.

        A run with this ``recording`` reuses them: none, if it computes everything again.
        """
        if recording.fresh:
            return {}
        with self._database.read() as connection:
            return read.explored_layers.read_explored_layers(connection, method, recording)

    def core_costs(self, keys: Sequence[str]) -> Mapping[str, RecordedCost]:
        """The recorded costs of nodes on cores, for those of the keys that the store has."""
        with self._database.read() as connection:
            return rows.core_costs.read_costs(connection, keys)

    def memory_cost(self, question: CostQuestion) -> MemoryCost | None:
        """The recorded answer of a tool to a memory cost question; ``None`` if there is none."""
        with self._database.read() as connection:
            return rows.memory_costs.read_memory_cost(connection, question)

    def record_memory_cost(self, question: CostQuestion, cost: MemoryCost) -> None:
        """Records the answer of a tool to a memory cost question.

        Raises:
            StoreError: if it cannot be written.
        """
        with self._database.use() as connection:
            rows.memory_costs.write_memory_cost(connection, question, cost)


def _check_resumable(run: RunRecord) -> None:
    """Checks that a run can be resumed."""
    if run.status is RunStatus.DONE:
        raise StoreError(f"run {run.id}: it is done; expected one that was interrupted or failed")
    rows.run_processes.check_not_running(run)


def _path(given: Path | str) -> Path:
    check_kind("store", given, (str, Path), _A_PATH)
    if not str(given):
        raise InputError("store", "''", _A_PATH)
    return Path(given)


def _repaired(path: PathOrNone) -> PathOrNone:
    """The path, after repairing the file if a process was killed while writing it."""
    if path is not None:
        repair_checkpoint(path)
    return path


@contextmanager
def _close_on_error(database: Database) -> Generator[None]:
    try:
        yield
    except BaseException:
        database.close()
        raise
