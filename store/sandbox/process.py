"""A separate process for untrusted queries, killed when it exceeds its limits.

DuckDB stops when interrupted, and limits its memory, but not within one function call
(``repeat('x', 3000000000)``, ``range(300000000)``). A process can always be killed.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import closing, suppress
from pathlib import Path
from threading import Lock, Timer
from time import monotonic
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
    """The header before the bytes of an answer; a worn process may lack memory for the next one."""

    size: int = 0
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
        self._process = _start_process()

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
            _kill(self._process)

    def _restart(self) -> None:
        """Replaces a process that has ended or has to be killed."""
        _kill(self._process)
        if self._is_closed:
            raise _cancellation()
        self._process = _start_process()

    def _run(self, question: SandboxQuery, process: subprocess.Popen[bytes]) -> SandboxResult:
        asked = _Request(path=str(self._path), sql=question.sql, limits=question.limits)
        longest = question.limits.seconds + _PATIENCE + _GRACE_SECONDS
        end = monotonic() + longest
        question.set_process(process)
        timer = Timer(longest, process.kill)
        timer.start()
        try:
            head, body = _exchange(process, asked)
        except (OSError, ValueError):  # the process has ended
            self._restart()
            if question.is_cancelled:
                raise _cancellation() from None
            raise (timeout_error if monotonic() >= end else memory_error)(question.limits) from None
        finally:
            timer.cancel()
        question.set_process(None)
        if head.is_worn:
            self._restart()
        if head.error is not None:
            raise StoreError(head.error)
        with pa.ipc.open_stream(body) as reader:
            return SandboxResult(relation=Relation(reader.read_all()), is_cut=head.is_cut)


def _check_text(sql: str) -> None:
    try:
        sql.encode()
    except UnicodeEncodeError:
        raise StoreError("query: found half a surrogate pair; expected Unicode text") from None


def _cancellation() -> StoreError:
    return StoreError("query: it was cancelled before it was answered")


def _start_process() -> subprocess.Popen[bytes]:
    """A process that waits for queries; Ctrl-C does not reach it."""
    return subprocess.Popen(
        [sys.executable, "-c", _START],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        start_new_session=True,
    )


def _kill(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait()
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            with suppress(OSError):  # unwritten data for a process that has ended
                pipe.close()


def _exchange(process: subprocess.Popen[bytes], question: _Request) -> tuple[_Header, bytes]:
    """The answer of the process.

    Raises:
        OSError, ValueError: if it ends before it has answered.
    """
    if process.stdin is None or process.stdout is None:
        raise OSError("no pipes")
    process.stdin.write(question.model_dump_json().encode() + b"\n")
    process.stdin.flush()
    head = _Header.model_validate_json(process.stdout.readline())
    body = process.stdout.read(head.size)
    if len(body) < head.size:
        raise OSError("the process has ended")
    return head, body


def serve() -> None:
    """Answers queries until the input ends; the main function of the process."""
    questions, answers = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # only answers go to the original stdout
    _warm_up()
    _restrict_process()
    before = _address_space()
    while line := questions.readline():
        head, body = _answer(_Request.model_validate_json(line))
        if _address_space() - before > _RETAINED_LIMIT:
            head = head.model_copy(update={"is_worn": True})
        answers.write(head.model_dump_json().encode() + b"\n" + body)
        answers.flush()


def _warm_up() -> None:
    """Answers a query, for which allocators and threads reserve more than they use."""
    with closing(connect(None)) as connection:
        _bytes(CutResult(connection.sql("SELECT 1 AS x").to_arrow_table(), is_cut=False))


def _answer(question: _Request) -> tuple[_Header, bytes]:
    limits = question.limits
    _set_alarm(limits.seconds + _PATIENCE + 2 * _GRACE_SECONDS)  # in case the parent has ended
    try:
        found = run_query(Path(question.path), question.sql, limits, _PATIENCE)
        body = _bytes(found)
        return _Header(size=len(body), is_cut=found.is_cut), body
    except QueryLimitError as error:
        return _Header(error=str(error), is_worn=True), b""
    except NestmapError as error:
        return _Header(error=str(error)), b""
    except MemoryError:
        return _Header(error=str(memory_error(limits)), is_worn=True), b""
    finally:
        _set_alarm(0)


def _bytes(found: CutResult) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, found.table.schema) as writer:
        writer.write_table(found.table)
    return sink.getvalue().to_pybytes()


def _restrict_process() -> None:
    """Forbids writing files and limits memory, where the operating system supports it."""
    if sys.platform == "win32":
        return
    import resource  # noqa: PLC0415 (not on Windows)

    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if sys.platform == "linux":
        most = _address_space() + _EXTRA_MEMORY
        resource.setrlimit(resource.RLIMIT_AS, (most, most))


def _address_space() -> int:
    """The address space of this process (bytes), which is limited; 0 where nothing is."""
    if sys.platform != "linux":
        return 0
    import resource  # noqa: PLC0415 (not on Windows)

    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    return pages * resource.getpagesize()


def _set_alarm(seconds: float) -> None:
    """Ends this process after that time, even within a function call; 0: never."""
    if sys.platform != "win32":
        signal.setitimer(signal.ITIMER_REAL, seconds)
