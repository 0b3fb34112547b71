"""Work spread over threads, its results taken in order."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import islice
from typing import TypeVar

A = TypeVar("A")
B = TypeVar("B")

PREFETCH_PER_WORKER = 2
"""Items a thread that are taken from the stream before their results are asked for."""


def available_workers() -> int:
    """The cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def map_in_order(run: Callable[[A], B], items: Iterable[A], workers: int) -> Iterator[B]:
    """``run`` on every item, on so many threads, lazily; the results in the order of the items.

    Threads are enough because kernels run without the GIL. An error of ``run``, and one of the
    stream itself, comes up when it is its item's turn: what came before it is not lost.
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
        pool.shutdown(cancel_futures=True)


def _start(
    pool: ThreadPoolExecutor, run: Callable[[A], B], items: Iterable[A]
) -> Iterator[Future[B]]:
    """The work on every item, begun when it is asked for; last, where there is one, its error."""
    try:
        for item in items:
            yield pool.submit(run, item)
    except Exception as error:  # also what the stream itself raises comes up in its turn
        failed = Future[B]()
        failed.set_exception(error)
        yield failed
