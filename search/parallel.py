"""Maps a function over a stream on several threads, with results in order."""

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import islice
from typing import TypeVar

A = TypeVar("A")
B = TypeVar("B")

PREFETCH_PER_WORKER = 2
"""Items per thread that are read ahead from the stream."""


def available_workers() -> int:
    """The number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def map_in_order(
    run: Callable[[A], B],
    items: Iterable[A],
    workers: int,
    stopping: Callable[[], None] | None = None,
) -> Iterator[B]:
    """Applies ``run`` to every item on several threads, lazily; yields results in item order.

    Threads suffice because kernels run without the GIL. An exception in ``run`` or in the stream is
    raised at its item's position, so that all earlier results are delivered. ``stopping`` is called
    at the end, before waiting for what still runs, which may be unwanted.
    """
    if workers == 1:
        yield from map(run, items)
        return
    pool = ThreadPoolExecutor(workers)
    started = _start(pool, run, items)
    try:
        waiting = deque(islice(started, PREFETCH_PER_WORKER * workers))
        while waiting:
            result = waiting.popleft().result()
            waiting.extend(islice(started, 1))
            yield result
    finally:
        if stopping is not None:
            stopping()
        pool.shutdown(cancel_futures=True)


def _start(
    pool: ThreadPoolExecutor, run: Callable[[A], B], items: Iterable[A]
) -> Iterator[Future[B]]:
    """Starts the work on each item when it is requested.

    Ends with the stream's exception, if any.
    """
    try:
        for item in items:
            yield pool.submit(run, item)
    except Exception as error:  # an exception of the stream is also raised in order
        failed = Future[B]()
        failed.set_exception(error)
        yield failed
