"""Explores designs on the workers of a Dask cluster, which hands out what dead workers had in hand.

Each task carries the method, which a worker reads once, and one design. Clusters are
started with Dask's own tools: docs/clusters.md.
"""

import asyncio
import json
import logging
import pickle
import socket
from collections import deque
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError
from contextlib import AbstractAsyncContextManager, contextmanager, suppress
from functools import lru_cache
from hashlib import sha256
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from threading import Event
from typing import Final, Literal, NamedTuple, Protocol, cast, final

import nestmap.costmodel.version
import nestmap.search.version
from nestmap.model import InputError
from nestmap.model.design_space.space import Design
from nestmap.model.errors import warn_of_input
from nestmap.model.user_caches import source_files
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

_LOOK_SECONDS: Final = 5.0
"""How often to look whether the workers that were asked are still there."""

_EXPECTED: Final = "workers with the code that runs here: "


class _Answer(NamedTuple):
    """The result of a design, and the code that gave it."""

    points: DesignPoints
    build: str


class _Future(Protocol):
    """The part of ``distributed.Future`` in use."""

    def result(self, timeout: float) -> object: ...


class _Client(Protocol):
    """The part of ``distributed.Client`` in use."""

    def submit(
        self,
        run: Callable[[bytes, Design], _Answer],
        job: bytes,
        design: Design,
        /,
        *,
        pure: bool,
        workers: Sequence[str] | None,
    ) -> _Future: ...
    def run(
        self, function: Callable[[], str], *, on_error: Literal["return"]
    ) -> Mapping[str, object]: ...
    def nthreads(self) -> Mapping[str, int]: ...
    def wait_for_workers(self, n_workers: int, timeout: float) -> None: ...
    def cancel(self, futures: Sequence[_Future]) -> None: ...
    def close(self, timeout: float) -> None: ...


class _Security(Protocol):
    def get_connection_args(self, role: str) -> Mapping[str, object]: ...


class _Scheduler(Protocol):
    async def identity(self) -> object: ...


class _Comm(Protocol):
    def get_address_host_port(self, address: str) -> tuple[str, int]: ...


class _Distributed(Protocol):
    """The part of the module ``distributed`` in use."""

    KilledWorker: type[Exception]
    comm: _Comm

    def Security(self) -> _Security: ...  # noqa: N802 (Dask's name)
    def rpc(
        self, address: str, *, connection_args: Mapping[str, object]
    ) -> AbstractAsyncContextManager[_Scheduler]: ...

    def Client(  # noqa: N802 (Dask's name)
        self, address: str, *, timeout: float, set_as_default: bool
    ) -> _Client: ...


class _InHand(NamedTuple):
    """A design that the cluster has, and which workers may take it: ``None`` for all."""

    design: Design
    result: _Future
    workers: Sequence[str] | None


@contextmanager
def dask_explorer(method: SweepMethod, place: DaskScheduler) -> Generator[ExploreDesigns]:
    """Explores designs on the workers of a cluster.

    Raises:
        InputError: where Dask is not installed, there is no scheduler or no worker, or a worker has
            other code.
    """
    check_installed(f"on {place}", ("distributed",), "cluster")
    dask = cast(_Distributed, import_module("distributed"))
    job = pickle.dumps(method)
    with _without_log():
        client = _connected(dask, place)
        try:
            cluster = _Cluster(dask, client, place, job)
            cluster.check()
            yield cluster.explored
        finally:
            with suppress(Exception):  # what is wrong with the cluster has been said
                client.close(_CLOSE_SECONDS)


def _connected(dask: _Distributed, place: DaskScheduler) -> _Client:
    address = _address_in(place) if place.is_file else place.where
    expected = "a Dask scheduler that runs"
    try:
        host, port = dask.comm.get_address_host_port(address)
        socket.create_connection((host, port), CONNECT_SECONDS).close()  # Dask retries a wrong one
        asyncio.run(_ask(dask, address))
        return dask.Client(address, timeout=CONNECT_SECONDS, set_as_default=False)
    except TimeoutError:
        raise _wrong(place, f"no answer within {CONNECT_SECONDS:g} s", expected) from None
    except (OSError, ValueError) as error:
        raise _wrong(place, f"no answer ({_line(error)})", expected) from None


async def _ask(dask: _Distributed, address: str) -> None:
    """Asks a scheduler who it is: for one that accepts connections and is silent, a client waits.

    Raises:
        TimeoutError: where it does not answer.
    """
    arguments = dask.Security().get_connection_args("client")
    async with asyncio.timeout(CONNECT_SECONDS), dask.rpc(address, connection_args=arguments) as it:
        await it.identity()


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


@final
class _Cluster:
    """The workers of a scheduler; those with other code than this process get no designs."""

    def __init__(
        self, dask: _Distributed, client: _Client, place: DaskScheduler, job: bytes
    ) -> None:
        self._dask, self._client, self._place, self._job = dask, client, place, job
        self._others: dict[str, str] = {}

    def check(self) -> None:
        """Checks that there are workers, and that all of them run this code.

        Raises:
            InputError: where there is none, or one runs other code.
        """
        try:
            self._client.wait_for_workers(1, WORKER_SECONDS)
            others = self._builds_of_others()
        except TimeoutError:
            raise self._wrong(f"no worker within {WORKER_SECONDS:g} s") from None
        except OSError as error:
            raise self._wrong(_line(error)) from None
        if others:
            raise self._wrong(_listed(others))

    def explored(self, designs: Sequence[Design]) -> Iterator[DesignPoints]:
        """The results in order.

        Raises:
            InputError: where the scheduler is lost, workers that have a design die again and again,
                or all workers run other code.
        """
        left, waiting, done = deque(designs), deque[_InHand](), 0
        try:
            while left or waiting:
                while left and len(waiting) < AHEAD * max(1, sum(self._client.nthreads().values())):
                    waiting.append(self._submit(left.popleft()))
                yield self._result(waiting)
                waiting.popleft()
                done += 1
        except self._dask.KilledWorker:
            design = waiting[0].design
            found = f"workers that died again and again while they had design {design.number}"
            expected = "workers with enough memory, which nobody kills"
            raise _wrong(self._place, f"{found} ({design})", expected) from None
        except (CancelledError, OSError) as error:
            found = f"the scheduler was lost after {done} of {len(designs)} designs"
            expected = "a scheduler that runs until the end"
            raise _wrong(self._place, f"{found} ({_line(error)})", expected) from None
        finally:
            with suppress(Exception):  # the scheduler may be lost
                self._client.cancel([x.result for x in waiting])

    def _submit(self, design: Design) -> _InHand:
        """Hands a design out: to any worker as long as none is known to run other code."""
        chosen: list[str] | None = None
        if self._others:
            chosen = sorted(self._client.nthreads().keys() - self._others.keys())
            if not chosen:
                raise self._wrong(_listed(self._others))
        result = self._client.submit(_explore, self._job, design, pure=False, workers=chosen)
        return _InHand(design, result, chosen)

    def _result(self, waiting: deque[_InHand]) -> DesignPoints:
        """The first result, computed again as long as it is that of other code."""
        while True:
            one = waiting[0]
            try:
                answer = one.result.result(timeout=_LOOK_SECONDS)
            except TimeoutError:
                if one.workers is None or set(one.workers) & self._client.nthreads().keys():
                    continue  # else those that were asked have left, and no other would be
            except (CancelledError, OSError, self._dask.KilledWorker):
                raise
            except Exception:  # other code may fail in any way
                self._look_for_others()
                if not self._may_have_gone_to_others(one):
                    raise
            else:
                if isinstance(answer, _Answer) and answer.build == build_of_process():
                    return answer.points
                self._look_for_others()
            waiting[0] = self._submit(one.design)

    def _may_have_gone_to_others(self, one: _InHand) -> bool:
        return bool(self._others.keys() & (one.workers or self._others.keys()))

    def _look_for_others(self) -> None:
        """Looks which workers run other code, and warns of those that were not known."""
        found = self._builds_of_others()
        new = {x: build for x, build in found.items() if x not in self._others}
        self._others = found  # an address may be given again
        if new:
            told = f"{_listed(new)}, whose results are computed again by others"
            warn_of_input(f"on {self._place}", told, _EXPECTED + build_of_process())

    def _builds_of_others(self) -> dict[str, str]:
        """The workers that run other code, with what they run."""
        found = self._client.run(build_of_process, on_error="return")
        builds = {x: str(build) for x, build in found.items()}
        return {x: build for x, build in builds.items() if build != build_of_process()}

    def _wrong(self, found: str) -> InputError:
        return _wrong(self._place, found, _EXPECTED + build_of_process())


def _listed(builds: Mapping[str, str]) -> str:
    return ", ".join(f"worker {x} with {build}" for x, build in sorted(builds.items()))


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


@lru_cache(maxsize=1)
def build_of_process() -> str:
    """The code that a process runs: versions of nestmap, cost model and search, all sources."""
    digest = sha256()
    for file in source_files("costmodel", "model", "pipeline", "search", "store"):
        digest.update(file.read_bytes())
    costs, search = nestmap.costmodel.version.VERSION, nestmap.search.version.VERSION
    sources = digest.hexdigest()[:12]
    return f"nestmap {version('nestmap')}, cost model {costs}, search {search}, sources {sources}"


@lru_cache(maxsize=2)
def _explorer_of(job: bytes) -> Callable[[Design], DesignPoints]:
    """What a worker explores, read once."""
    return cast("SweepMethod", pickle.loads(job)).explorer(Event())


def _explore(job: bytes, design: Design) -> _Answer:
    """Runs on a worker."""
    return _Answer(_explorer_of(job)(design), build_of_process())
