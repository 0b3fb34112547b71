"""A separate process for untrusted queries, killed when it exceeds its limits.

DuckDB stops when interrupted, and limits its memory, but not within one function call
(``repeat('x', 3000000000)``, ``range(300000000)``). A process can always be killed.
"""

from __future__ import annotations

import subprocess
from contextlib import closing
from pathlib import Path
from threading import Lock
from typing import Final, final

import pyarrow as pa

from nestmap.model import Frozen, NestmapError, StoreError
from nestmap.store.connection.connect import connect
from nestmap.store.read.relation import Relation
from nestmap.store.sandbox.allow_list import (
    CutResult,
    QueryLimitError,
    QueryLimits,
    memory_error,
    run_query,
    timeout_error,
)
from nestmap.store.sandbox.child_process import (
    ChildEndedError,
    Frame,
    address_space,
    answer_pipe,
    exchange,
    kill_child,
    limit_process,
    requests,
    set_alarm,
    start_child,
    write_frame,
)

_PATIENCE: Final = 3.0
_GRACE_SECONDS: Final = 1.0
_EXTRA_MEMORY: Final = 2 * 2**30
"""Memory (bytes) that a process may use in addition to that at its start; DuckDB alone has less."""

_RETAINED_LIMIT: Final = 2**30
"""A process whose address space has grown by more (bytes) is replaced: little of it is freed."""

_START: Final = "from nestmap.store.sandbox.process import serve; serve()"


class _Request(Frozen, frozen=True):
    path: str
    sql: str
    limits: QueryLimits


class _Header(Frozen, frozen=True):
    """The head of an answer, before its rows; a worn process may lack memory for the next one."""

    is_cut: bool = False
    error: str | None = None
    is_worn: bool = False


class SandboxResult(Frozen, frozen=True, arbitrary_types_allowed=True):
    """The rows found, and whether there are more."""

    relation: Relation
    is_cut: bool


@final
class SandboxQuery:
    """A query in progress, which can be cancelled."""

    def __init__(self, sql: str, limits: QueryLimits) -> None:
        self.sql = sql
        self.limits = limits
        self.is_cancelled = False
        self._lock = Lock()
        self._process: subprocess.Popen[bytes] | None = None

    def cancel(self) -> None:
        """Cancels the query; can be called from any thread."""
        with self._lock:
            self.is_cancelled = True
            if self._process is not None:
                self._process.kill()

    def set_process(self, process: subprocess.Popen[bytes] | None) -> None:
        """Sets the process to kill when the query is cancelled.

        Raises:
            StoreError: if it is cancelled already.
        """
        with self._lock:
            if self.is_cancelled:
                raise _cancellation()
            self._process = process


@final
class QuerySandbox:
    """Answers queries about one store, one at a time; close it at the end.

    Its process starts before the first query, because that takes a second, and serves further
    queries unless it has to be killed. The store is open only while a query is answered.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = Lock()
        self._is_closed = False
        self._process = start_child(_START)

    @property
    def process_id(self) -> int:
        """The process that answers the next query."""
        return self._process.pid

    def run(self, question: SandboxQuery) -> SandboxResult:
        """The answer to a query.

        Raises:
            StoreError: as :func:`nestmap.store.sandbox.allow_list.run_query` does; if it was
                cancelled; or if another query is still running after the time limit of a query.
        """
        _check_text(question.sql)
        if not self._lock.acquire(timeout=question.limits.seconds + _PATIENCE):
            raise StoreError(
                "query: another query is still running; expected one at a time: try again"
            )
        try:
            if self._process.poll() is not None:
                self._restart()
            return self._run(question, self._process)
        finally:
            self._lock.release()

    def close(self) -> None:
        """Kills the process."""
        self._is_closed = True
        self._process.kill()
        with self._lock:
            kill_child(self._process)

    def _restart(self) -> None:
        """Replaces a process that has ended or has to be killed."""
        kill_child(self._process)
        if self._is_closed:
            raise _cancellation()
        self._process = start_child(_START)

    def _run(self, question: SandboxQuery, process: subprocess.Popen[bytes]) -> SandboxResult:
        asked = _Request(path=str(self._path), sql=question.sql, limits=question.limits)
        longest = question.limits.seconds + _PATIENCE + _GRACE_SECONDS
        question.set_process(process)
        try:
            answer = exchange(process, Frame(asked.model_dump_json().encode()), longest)
        except ChildEndedError as error:
            self._restart()
            if question.is_cancelled:
                raise _cancellation() from None
            raise (timeout_error if error.is_late else memory_error)(question.limits) from None
        question.set_process(None)
        head = _Header.model_validate_json(answer.head)
        if head.is_worn:
            self._restart()
        if head.error is not None:
            raise StoreError(head.error)
        with pa.ipc.open_stream(answer.body) as reader:
            return SandboxResult(relation=Relation(reader.read_all()), is_cut=head.is_cut)


def _check_text(sql: str) -> None:
    try:
        sql.encode()
    except UnicodeEncodeError:
        raise StoreError("query: found half a surrogate pair; expected Unicode text") from None


def _cancellation() -> StoreError:
    return StoreError("query: it was cancelled before it was answered")


def serve() -> None:
    """Answers queries until the input ends; the main function of the process."""
    answers = answer_pipe()
    _warm_up()
    limit_process(_EXTRA_MEMORY)
    before = address_space()
    for request in requests():
        head, body = _answer(_Request.model_validate_json(request.head))
        if address_space() - before > _RETAINED_LIMIT:
            head = head.model_copy(update={"is_worn": True})
        write_frame(answers, Frame(head.model_dump_json().encode(), body))


def _warm_up() -> None:
    """Answers a query, for which allocators and threads reserve more than they use."""
    with closing(connect(None)) as connection:
        _bytes(CutResult(connection.sql("SELECT 1 AS x").to_arrow_table(), is_cut=False))


def _answer(question: _Request) -> tuple[_Header, bytes]:
    limits = question.limits
    set_alarm(limits.seconds + _PATIENCE + 2 * _GRACE_SECONDS)  # in case the parent has ended
    try:
        found = run_query(Path(question.path), question.sql, limits, _PATIENCE)
        return _Header(is_cut=found.is_cut), _bytes(found)
    except QueryLimitError as error:
        return _Header(error=str(error), is_worn=True), b""
    except NestmapError as error:
        return _Header(error=str(error)), b""
    except MemoryError:
        return _Header(error=str(memory_error(limits)), is_worn=True), b""
    finally:
        set_alarm(0)


def _bytes(found: CutResult) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, found.table.schema) as writer:
        writer.write_table(found.table)
    return sink.getvalue().to_pybytes()
