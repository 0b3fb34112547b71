"""Explores designs on this machine: in threads, or in worker processes, which may be killed.

Each worker gets the method once, then designs one by one. A design whose worker ends is
explored again. Workers end with this process, however it ends.
"""

from __future__ import annotations

import os
import pickle
import signal
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from multiprocessing import get_context
from multiprocessing.connection import Connection
from threading import Event, Thread
from typing import Final, NamedTuple, final

from nestmap.costmodel.evaluate_rows import is_compiled_before
from nestmap.costmodel.kernel.jit import cache_folder
from nestmap.model import InputError
from nestmap.model.design_space.space import Design
from nestmap.pipeline.sweep.explore_designs import DesignPoints, ExploreDesigns
from nestmap.pipeline.sweep.methods.method import SweepMethod
from nestmap.search.parallel import map_in_order
from nestmap.store.connection.interrupts import defer_interrupts

# --- explores designs on several threads of this process ---


def thread_explorer(method: SweepMethod, workers: int) -> ExploreDesigns:
    """Explores designs on several threads without a store."""
    stopped = Event()
    explorer = method.explorer(stopped)

    def explore(designs: Sequence[Design]) -> Iterator[DesignPoints]:
        stopped.clear()
        return map_in_order(explorer, designs, workers, stopped.set)

    return explore


# --- explores designs in worker processes of this machine, which may be killed ---

AHEAD: Final = 2
"""Designs per worker that are handed out before their results are needed."""

MOST_ENDED: Final = 3
"""How many times workers may end while no design is finished."""


@contextmanager
def process_explorer(method: SweepMethod, processes: int) -> Generator[ExploreDesigns]:
    """Explores designs in so many processes, each with one thread; they end with the block."""
    cache_folder()  # says where kernels are cached; workers say nothing
    pool = _Pool(pickle.dumps(method), processes)
    alone = method.explorer(Event())
    try:
        yield lambda designs: _explored(pool, alone, designs)
    except BaseException:
        pool.kill()
        raise
    pool.kill()


def _explored(
    pool: _Pool, alone: Callable[[Design], DesignPoints], designs: Sequence[Design]
) -> Iterator[DesignPoints]:
    """The results in order; a machine's first design is explored here, which compiles kernels."""
    if designs and not is_compiled_before():
        yield alone(designs[0])
        designs = designs[1:]
    yield from pool.explored(designs)


class _InHand(NamedTuple):
    """A design that a worker has, or is about to get."""

    design: Design
    result: Future[DesignPoints]


@final
class _Pool:
    """Worker processes, replaced by others if one of them ends."""

    def __init__(self, job: bytes, processes: int) -> None:
        self._job, self._processes = job, processes
        self._start()

    def _start(self) -> None:
        context = get_context("spawn")
        ending, self._ending = context.Pipe(duplex=False)
        self._pool = ProcessPoolExecutor(
            self._processes, context, initializer=_begin, initargs=(self._job, ending)
        )

    def kill(self) -> None:
        """Ends the workers, whatever they do."""
        self._ending.close()
        self._pool.shutdown(cancel_futures=True)

    def explored(self, designs: Sequence[Design]) -> Iterator[DesignPoints]:
        """The results of designs, in their order.

        Raises:
            InputError: where workers end again and again.
        """
        left, waiting, ended = deque(designs), deque[_InHand](), 0
        while left or waiting:
            while left and len(waiting) < AHEAD * self._processes:
                waiting.append(self._submit(left.popleft()))
            try:
                result = waiting[0].result.result()
            except BrokenProcessPool:
                ended += 1
                if ended == MOST_ENDED:
                    raise _ended(waiting[0].design) from None
                waiting = self._handed_out_again(waiting)
                continue
            ended = 0
            waiting.popleft()
            yield result

    def _handed_out_again(self, waiting: deque[_InHand]) -> deque[_InHand]:
        """Designs without results go to new workers."""
        self.kill()
        self._start()
        return deque(x if _is_done(x) else self._submit(x.design) for x in waiting)

    def _submit(self, design: Design) -> _InHand:
        try:
            with defer_interrupts():  # a worker that is started half would print a traceback
                return _InHand(design, self._pool.submit(_explore, design))
        except BrokenProcessPool as error:  # noticed when its result is needed
            failed = Future[DesignPoints]()
            failed.set_exception(error)
            return _InHand(design, failed)


def _is_done(one: _InHand) -> bool:
    return one.result.done() and not one.result.cancelled() and one.result.exception() is None


def _ended(design: Design) -> InputError:
    found = f"{MOST_ENDED} in a row that ended while design {design.number} ({design}) was in hand"
    return InputError("worker processes", found, "processes with enough memory, which nobody kills")


class _Worker:
    """What this process explores, if it is a worker."""

    explore: Callable[[Design], DesignPoints] | None = None


def _begin(job: bytes, ending: Connection) -> None:
    """Prepares a worker."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that waits for us
    Thread(target=_end_with, args=(ending,), daemon=True).start()
    method: SweepMethod = pickle.loads(job)
    _Worker.explore = method.explorer(Event())


def _end_with(ending: Connection) -> None:
    """Ends this process when the other end of a pipe is closed, by its process or with it."""
    with suppress(EOFError, OSError):
        ending.recv_bytes()
    os._exit(1)


def _explore(design: Design) -> DesignPoints:
    assert _Worker.explore is not None
    return _Worker.explore(design)
