"""When Ctrl-C acts: within a long query, and not between a commit and what follows from it."""

import signal
import threading
from collections.abc import Callable, Generator
from concurrent.futures import Future, wait
from concurrent.futures.thread import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, contextmanager
from types import FrameType
from typing import Final, TypeVar

import duckdb

from nestmap.model import StoreError

T = TypeVar("T")

_TICK: Final = 0.05


def run_interruptibly(connection: duckdb.DuckDBPyConnection, call: Callable[[], T]) -> T:
    """The result of a call that runs a statement on the connection.

    DuckDB itself reacts to signals in ``execute`` alone. Here the call runs in another thread while
    the main thread, which Python's signal handlers need, waits; other threads make it themselves.

    Raises:
        KeyboardInterrupt: on Ctrl-C, once the statement has ended.
    """
    if threading.current_thread() is not threading.main_thread():
        return call()
    with ThreadPoolExecutor(1) as pool:
        result = pool.submit(call)
        try:
            while not result.done():
                wait([result], _TICK)
        finally:
            _interrupt(connection, result)
        return result.result()


def _interrupt(connection: duckdb.DuckDBPyConnection, result: Future[T]) -> None:
    """Interrupts the statement until it ends: it may not have begun at the first time."""
    while not result.done():
        connection.interrupt()
        wait([result], _TICK)


@contextmanager
def limit_time(
    connection: duckdb.DuckDBPyConnection, name: str, seconds: float | None
) -> Generator[None]:
    """Interrupts statements of the block after so many seconds; ``None``: never.

    Raises:
        StoreError: if it did, about the store with that name.
    """
    if seconds is None:
        yield
        return
    timer = threading.Timer(seconds, connection.interrupt)
    timer.daemon = True
    timer.start()
    try:
        yield
    except (StoreError, duckdb.Error) as error:
        if timer.finished.is_set() and "INTERRUPT" in str(error):
            raise StoreError(
                f"store {name}: found no answer within {seconds:g} s; expected a faster one: "
                "nestmap db check names views and macros that are not nestmap's"
            ) from None
        raise
    finally:
        timer.cancel()


@contextmanager
def defer_interrupts() -> Generator[None]:
    """SIGINT and SIGTERM take effect after the block: what it does is done as a whole.

    Python calls signal handlers in the main thread only, so other threads need nothing.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    received: list[int] = []

    def receive(number: int, frame: FrameType | None) -> None:
        received.append(number)

    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    known = {number: handler for number, handler in before.items() if handler is not None}
    try:
        for number in known:
            signal.signal(number, receive)
        yield
    finally:
        for number, handler in known.items():
            signal.signal(number, handler)
        if received:
            signal.raise_signal(received[0])


@contextmanager
def entered(begin: Callable[[], AbstractContextManager[T]]) -> Generator[T]:
    """Begins something and enters it as a whole: an interrupt in between would leave it begun."""
    with ExitStack() as stack:
        with defer_interrupts():
            inside = stack.enter_context(begin())
        yield inside
