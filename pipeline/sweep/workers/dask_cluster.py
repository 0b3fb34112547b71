"""Explores designs on the workers of a Dask cluster, which hands out what dead workers had in hand.

Each task carries the method, which a worker reads once, and one design. Clusters are
started with Dask's own tools: docs/clusters.md.
"""

from __future__ import annotations

import json
import logging
import pickle
from collections import deque
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager, suppress
from functools import lru_cache
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from threading import Event
from typing import Final, NamedTuple, Protocol, cast

from nestmap.model import InputError
from nestmap.model.design_space.design import Design
from nestmap.pipeline.sweep.explore_designs import DesignPoints, ExploreDesigns
from nestmap.pipeline.sweep.methods.method import SweepMethod
from nestmap.pipeline.sweep.workers.place import DaskScheduler
from nestmap.pipeline.util.extras import check_installed

AHEAD: Final = 2
"""Designs per thread of the workers that are handed out before their results are needed."""

CONNECT_SECONDS: Final = 15.0
"""How long to wait for the scheduler: at first, and where it is lost."""

WORKER_SECONDS: Final = 15.0
"""How long to wait for the scheduler's first worker."""

_CLOSE_SECONDS: Final = 2.0


class _Future(Protocol):
    """The part of ``distributed.Future`` in use."""

    def result(self) -> DesignPoints: ...


class _Client(Protocol):
    """The part of ``distributed.Client`` in use."""

    def submit(
        self,
        run: Callable[[bytes, Design], DesignPoints],
        job: bytes,
        design: Design,
        /,
        *,
        pure: bool,
    ) -> _Future: ...
    def run(self, function: Callable[[], str]) -> Mapping[str, str]: ...
    def nthreads(self) -> Mapping[str, int]: ...
    def wait_for_workers(self, n_workers: int, timeout: float) -> None: ...
    def cancel(self, futures: Sequence[_Future]) -> None: ...
    def close(self, timeout: float) -> None: ...


class _Distributed(Protocol):
    """The part of the module ``distributed`` in use."""

    KilledWorker: type[Exception]

    def Client(  # noqa: N802 (Dask's name)
        self,
        address: str,
        *,
        timeout: float,
        set_as_default: bool,
    ) -> _Client: ...


class _InHand(NamedTuple):
    """A design that the cluster has."""

    design: Design
    result: _Future


@contextmanager
def dask_explorer(method: SweepMethod, place: DaskScheduler) -> Generator[ExploreDesigns]:
    """Explores designs on the workers of a cluster.

    Raises:
        InputError: where Dask is not installed, there is no scheduler or no worker, or a worker has
            another version of nestmap.
    """
    check_installed(f"on {place}", ("distributed",), "cluster")
    dask = cast(_Distributed, import_module("distributed"))
    job = pickle.dumps(method)
    with _without_log():
        client = _connected(dask, place)
        try:
            _check_workers(client, place)
            yield lambda designs: _explored(dask, client, place, job, designs)
        finally:
            with suppress(Exception):  # what is wrong with the cluster has been said
                client.close(_CLOSE_SECONDS)


def _connected(dask: _Distributed, place: DaskScheduler) -> _Client:
    address = _address_in(place) if place.is_file else place.where
    try:
        return dask.Client(address, timeout=CONNECT_SECONDS, set_as_default=False)
    except (OSError, ValueError) as error:
        raise _wrong(place, f"no answer ({_line(error)})", "a Dask scheduler that runs") from None


def _address_in(place: DaskScheduler) -> str:
    """The address in a scheduler file; Dask itself waits for the file for ever."""
    expected = "the file of a Dask scheduler that runs (dask scheduler --scheduler-file FILE.json)"
    try:
        told: object = json.loads(Path(place.where).read_text(encoding="utf-8"))
    except OSError as error:
        raise _wrong(place, error.strerror or "no file", expected) from None
    except ValueError:
        raise _wrong(place, "a file that is not JSON", expected) from None
    address = cast("dict[str, object]", told).get("address") if isinstance(told, dict) else None
    if not isinstance(address, str):
        raise _wrong(place, "a file without an address", expected)
    return address


def _check_workers(client: _Client, place: DaskScheduler) -> None:
    expected = f"workers with nestmap {version('nestmap')}, the version here"
    try:
        client.wait_for_workers(1, WORKER_SECONDS)
        versions = set(client.run(_version).values())
    except TimeoutError:
        raise _wrong(place, f"no worker within {WORKER_SECONDS:g} s", expected) from None
    except (OSError, ImportError, AttributeError) as error:
        raise _wrong(place, _line(error), expected) from None
    others = sorted(versions - {version("nestmap")})
    if others:
        raise _wrong(place, f"workers with nestmap {', '.join(others)}", expected)


def _explored(
    dask: _Distributed,
    client: _Client,
    place: DaskScheduler,
    job: bytes,
    designs: Sequence[Design],
) -> Iterator[DesignPoints]:
    """The results in order.

    Raises:
        InputError: where the scheduler is lost, or workers that have a design die again and again.
    """
    left, waiting, done = deque(designs), deque[_InHand](), 0
    try:
        while left or waiting:
            while left and len(waiting) < AHEAD * max(1, sum(client.nthreads().values())):
                design = left.popleft()
                waiting.append(_InHand(design, client.submit(_explore, job, design, pure=False)))
            yield waiting[0].result.result()
            waiting.popleft()
            done += 1
    except dask.KilledWorker:
        design = waiting[0].design
        found = (
            f"workers that died again and again while they had design {design.number} ({design})"
        )
        raise _wrong(place, found, "workers with enough memory, which nobody kills") from None
    except (CancelledError, OSError) as error:
        found = f"the scheduler was lost after {done} of {len(designs)} designs ({_line(error)})"
        raise _wrong(place, found, "a scheduler that runs until the end") from None
    finally:
        with suppress(Exception):  # the scheduler may be lost
            client.cancel([x.result for x in waiting])


def _wrong(place: DaskScheduler, found: str, expected: str) -> InputError:
    return InputError(f"on {place}", found, expected)


def _line(error: BaseException) -> str:
    """The first line of an error, which may have none."""
    return str(error).partition("\n")[0] or type(error).__name__


@contextmanager
def _without_log() -> Generator[None]:
    """Without Dask's log: errors say what is wrong in one line."""
    names = [x for x in logging.root.manager.loggerDict if x.partition(".")[0] == "distributed"]
    before = {name: logging.getLogger(name).level for name in names}
    for name in names:
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        for name, level in before.items():
            logging.getLogger(name).setLevel(level)


def _version() -> str:
    """The version of nestmap on a worker."""
    return version("nestmap")


@lru_cache(maxsize=2)
def _explorer_of(job: bytes) -> Callable[[Design], DesignPoints]:
    """What a worker explores, read once."""
    return cast("SweepMethod", pickle.loads(job)).explorer(Event())


def _explore(job: bytes, design: Design) -> DesignPoints:
    """Runs on a worker."""
    return _explorer_of(job)(design)
