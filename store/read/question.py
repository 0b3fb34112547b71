"""A question that somebody asks a store in SQL, answered within limits of rows, time and memory.

Nothing but DuckDB itself guards the store: the connection is read-only, reaches no other file, and
its settings are locked (:func:`nestmap.store.connection.connect.connect_read_only`).
"""

from collections.abc import Callable, Generator
from contextlib import closing, contextmanager
from pathlib import Path
from threading import Lock, Timer
from typing import Final, cast, final

import duckdb
import pyarrow as pa

from nestmap.model import Frozen, StoreError
from nestmap.store.connection.connect import connect_read_only
from nestmap.store.connection.database import open_with_retry
from nestmap.store.connection.errors import wrap_errors
from nestmap.store.read.relation import Relation
from nestmap.store.read.sweep_lookup import create_sweep_views
from nestmap.store.schema.migrate import check_schema, check_tables

MEMORY: Final = 512
"""The memory (MB) that DuckDB may use for the questions and pages of an explorer."""

_ALLOWED: Final = "one SELECT over the tables and views of the store"
_ELSEWHERE: Final = "ask for fewer rows, or use nestmap query, which has no limit"
_FEW_ROWS: Final = 2048


class QueryLimits(Frozen, frozen=True):
    """The limits of an answer: its rows and bytes, and the seconds to find it.

    The store stays open while a question is answered, and writers wait: ``seconds`` is less than
    their patience (:data:`nestmap.store.connection.database.PATIENCE`).
    """

    rows: int = 1000
    size: int = 16 * 2**20
    seconds: float = 6


class Answer(Frozen, frozen=True, arbitrary_types_allowed=True):
    """The rows found, and whether there are more."""

    relation: Relation
    is_cut: bool


@final
class Question:
    """A question, which can be cancelled while it is answered.

    DuckDB stops between two blocks of rows, so a single long function call ends later than that.
    """

    def __init__(self, sql: str, limits: QueryLimits) -> None:
        self.sql = sql.encode(errors="replace").decode()  # DuckDB takes no half surrogate pair
        self.limits = limits
        self._lock = Lock()
        self._is_cancelled = False
        self._connection: duckdb.DuckDBPyConnection | None = None

    def cancel(self) -> None:
        """Cancels the question; can be called from any thread."""
        with self._lock:
            self._is_cancelled = True
            if self._connection is not None:
                self._connection.interrupt()

    def ask(self, path: Path, patience: float = 3) -> Answer:
        """The answer of a store, cut to the limits.

        ``patience`` is how long to wait for a process that writes to the store (s).

        Raises:
            StoreError: if the question is not valid, not allowed, cancelled or exceeds its limits;
                if the store cannot be read.
        """
        opened = open_with_retry(lambda: connect_read_only(path, MEMORY), patience)
        with closing(opened) as connection, wrap_errors(str(path)):
            check_schema(connection, str(path))
            check_tables(connection, str(path))
            try:
                with self._running(connection):
                    create_sweep_views(connection, self.sql)
                    reader = _reader(_answering(connection, self.sql))
                    with closing(reader):
                        return _first_rows(reader, self.limits)
            except (duckdb.Error, RuntimeError, pa.ArrowException) as error:
                raise StoreError(f"query: {self._explain(error)}") from None

    @contextmanager
    def _running(self, connection: duckdb.DuckDBPyConnection) -> Generator[None]:
        """Lets the end of its time, and whoever cancels it, interrupt what the block does."""
        timer = Timer(self.limits.seconds, connection.interrupt)
        timer.daemon = True
        with self._lock:
            if self._is_cancelled:
                raise duckdb.InterruptException
            self._connection = connection
        timer.start()
        try:
            yield
        finally:
            timer.cancel()
            with self._lock:
                self._connection = None

    def _explain(self, error: Exception) -> str:
        """What was wrong; DuckDB's own message shows the position."""
        if self._is_cancelled:
            return "it was cancelled before it was answered"
        if isinstance(error, duckdb.InterruptException) or "INTERRUPT" in str(error):
            return (
                f"found no answer within {self.limits.seconds:g} s; expected a faster query: "
                f"{_ELSEWHERE}"
            )
        if isinstance(error, duckdb.OutOfMemoryException) or "Out of Memory" in str(error):
            return (
                f"found no answer within {MEMORY} MB of memory; expected a smaller query: "
                f"{_ELSEWHERE}"
            )
        return str(error).strip() or type(error).__name__


def _answering(connection: duckdb.DuckDBPyConnection, sql: str) -> duckdb.DuckDBPyRelation:
    """What answers the only statement of a text.

    Raises:
        StoreError: if there is another number of statements, or it has no answer.
    """
    statements = connection.extract_statements(sql)
    if len(statements) != 1:
        found = f"{len(statements)} statements" if statements else "no statement"
        raise StoreError(f"query: found {found}; expected {_ALLOWED}")
    # the stubs do not say that a statement without an answer gives None
    relation = cast("duckdb.DuckDBPyRelation | None", connection.sql(statements[0]))
    if relation is None:
        kind = statements[0].type.name.replace("_", " ")
        raise StoreError(f"query: found a statement of type {kind}; expected {_ALLOWED}")
    return relation


def _reader(relation: duckdb.DuckDBPyRelation) -> pa.RecordBatchReader:
    """A reader of the rows in batches; its name differs in older versions of DuckDB."""
    name = "to_arrow_reader" if hasattr(relation, "to_arrow_reader") else "fetch_arrow_reader"
    reading = cast("Callable[[int], pa.RecordBatchReader]", getattr(relation, name))
    return reading(_FEW_ROWS)


def _first_rows(reader: pa.RecordBatchReader, limits: QueryLimits) -> Answer:
    """The first rows; the others are not computed."""
    batches: list[pa.RecordBatch] = []
    rows = size = 0
    for batch in reader:
        batches.append(batch)
        rows, size = rows + batch.num_rows, size + batch.nbytes
        if rows > limits.rows or size > limits.size:
            break
    table = pa.Table.from_batches(batches, reader.schema)
    kept = min(rows, limits.rows)
    while kept and table.slice(0, kept).nbytes > limits.size:
        kept //= 2
    is_cut = rows > kept or size > limits.size
    return Answer(relation=Relation(table.slice(0, kept)), is_cut=is_cut)
