"""A Dask cluster of real worker processes finds what threads find, and loses nothing."""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Final, NamedTuple

import pytest
from distributed import Client

import nestmap
from nestmap import SweepResult
from nestmap.model import InputError, InputWarning, Objective
from nestmap.pipeline.explore.plan import SearchPlan
from nestmap.pipeline.render.text.query_result_file import Layout, answer_text
from nestmap.pipeline.sweep.explore_designs import DesignPoints
from nestmap.pipeline.sweep.methods.one_core import OneCore
from nestmap.pipeline.sweep.space.checked_space import check_space
from nestmap.pipeline.sweep.workers import dask_cluster
from nestmap.pipeline.sweep.workers.dask_cluster import dask_explorer
from nestmap.pipeline.sweep.workers.place import DaskScheduler
from nestmap.store import Store
from nestmap.store.maintenance.check import check_store
from tests.pipeline.sweep.spaces import write_space
from tests.sweeps import STRESS

pytestmark = pytest.mark.xdist_group("dask")

KILLS: Final = 20 if STRESS else 2
DESIGNS: Final = 18

SCHEDULER = "distributed.cli.dask_scheduler"
WORKER = "distributed.cli.dask_worker"


class Cluster(NamedTuple):
    """A scheduler and its workers, which are processes."""

    file: Path
    scheduler: subprocess.Popen[bytes]
    workers: list[subprocess.Popen[bytes]]

    @property
    def address(self) -> str:
        """The scheduler's."""
        told: dict[str, str] = json.loads(self.file.read_text())
        return told["address"]

    def start_worker(self, code: Path | None = None) -> None:
        """Starts another worker, with other code if given; the scheduler waits for none."""
        self.workers.append(start(WORKER, self.file, "--nthreads", "1", "--no-nanny", code=code))


def start(
    module: str, file: Path, *options: str, code: Path | None = None
) -> subprocess.Popen[bytes]:
    # a user's configuration is none of ours
    environment = {**os.environ, "DASK_CONFIG": str(file.parent)}
    if code is not None:
        environment["PYTHONPATH"] = str(code)
    command = [sys.executable, "-m", module, "--scheduler-file", str(file), "--no-dashboard"]
    return subprocess.Popen(
        [*command, *options],
        cwd=file.parent,
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


@contextmanager
def started(folder: Path, workers: int) -> Generator[Cluster]:
    """A cluster on this machine."""
    file = folder / "scheduler.json"
    options = ("--host", "127.0.0.1", "--port", "0")
    cluster = Cluster(file, start(SCHEDULER, file, *options), [])
    try:
        end = time.monotonic() + 60
        while not file.exists():
            assert time.monotonic() < end, "the scheduler does not start"
            time.sleep(0.05)
        for _ in range(workers):
            cluster.start_worker()
        yield cluster
    finally:
        for process in (*cluster.workers, cluster.scheduler):
            process.kill()
            process.wait()


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Two workers."""
    with started(tmp_path_factory.mktemp("cluster"), 2) as running:
        yield running


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_space(tmp_path_factory.mktemp("space"))


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers start slowly where other work shares the machine."""
    monkeypatch.setattr(dask_cluster, "WORKER_SECONDS", 120.0)


def exported(result: SweepResult) -> str:
    return "".join(answer_text(result.relation(), Layout.CSV))


def test_a_cluster_finds_what_threads_find(cluster: Cluster, file: Path) -> None:
    threads = exported(nestmap.sweep(file))
    assert exported(nestmap.sweep(file, on=cluster.address)) == threads
    assert exported(nestmap.sweep(file, on=str(cluster.file))) == threads


class After:
    """Progress that does something after so many designs."""

    def __init__(self, designs: int, act: Callable[[], None]) -> None:
        self._left, self._act = designs, act

    def start(self, designs: int) -> None:
        """It begins."""

    def explored(self, points: DesignPoints, front: int) -> None:
        """One less is left."""
        self._left -= 1
        if not self._left:
            self._act()

    def recalled(self, points: DesignPoints, front: int) -> None:
        """What is known does not count."""


def recorded(path: Path) -> int:
    """How many designs the sweep in a sound store has, each once."""
    assert check_store(path).is_sound
    with Store.open_read_only(path) as store:
        (sweep,) = store.sweeps()
        (row,) = store.query("SELECT count(DISTINCT number) AS designs FROM sweep_designs").rows()
        assert row["designs"] == sweep.state.designs
        return sweep.state.designs


@pytest.mark.parametrize("seed", range(KILLS))
def test_a_cluster_whose_workers_die_records_what_threads_find(
    cluster: Cluster, file: Path, tmp_path: Path, seed: int
) -> None:
    draw = Random(seed)
    path, threads = tmp_path / "s.duckdb", nestmap.sweep(file)

    def kill() -> None:
        alive = [x for x in cluster.workers if x.poll() is None]
        draw.choice(alive).kill()
        cluster.start_worker()

    killed = After(draw.randrange(1, DESIGNS), kill)
    on = cluster.address
    assert nestmap.sweep(file, on=on, store=path, runs="none", progress=killed) == threads
    assert recorded(path) == DESIGNS
    found = nestmap.recorded_sweep("small", path)
    assert exported(found) == exported(threads)


@pytest.mark.stress
def test_a_sweep_goes_on_with_another_scheduler(file: Path, tmp_path: Path) -> None:
    path = tmp_path / "s.duckdb"
    with started(tmp_path, 1) as lost:

        def kill() -> None:
            lost.scheduler.kill()
            lost.workers[0].kill()

        with pytest.raises(InputError, match="the scheduler was lost after"):
            nestmap.sweep(file, on=lost.address, store=path, runs="none", progress=After(4, kill))
    before = recorded(path)
    assert 4 <= before < DESIGNS
    (folder := tmp_path / "again").mkdir()
    with started(folder, 1) as restarted:
        found = nestmap.sweep(file, on=restarted.address, store=path, runs="none")
    assert exported(found) == exported(nestmap.sweep(file))
    assert recorded(path) == DESIGNS


@pytest.mark.stress
def test_samplers_choose_the_same_designs(cluster: Cluster, file: Path) -> None:
    threads = nestmap.sweep(file, strategy="nsga2", designs=12)
    assert nestmap.sweep(file, strategy="nsga2", designs=12, on=cluster.address) == threads


def test_what_a_killed_worker_had_in_hand_is_explored_again(cluster: Cluster, file: Path) -> None:
    checked = check_space(file)
    designs = [checked.settings.design(n) for n in range(DESIGNS)]
    place = DaskScheduler(cluster.address)
    with dask_explorer(
        OneCore(checked, SearchPlan(), (Objective.ENERGY, Objective.LATENCY)), place
    ) as explore:
        expected = list(explore(designs))
        results = explore(designs)
        found = [next(results) for _ in range(5)]
        cluster.workers[0].kill()
        cluster.start_worker()
        assert [*found, *results] == expected


@pytest.mark.parametrize("count", [2, 18])
@pytest.mark.stress
def test_a_lost_scheduler_is_an_error(file: Path, tmp_path: Path, count: int) -> None:
    checked = check_space(file)
    designs = [checked.settings.design(n) for n in range(count)]
    with started(tmp_path, 1) as lost:
        place = DaskScheduler(lost.address)
        with dask_explorer(
            OneCore(checked, SearchPlan(), (Objective.ENERGY, Objective.LATENCY)), place
        ) as explore:
            results = explore(designs)
            next(results)
            os.kill(lost.scheduler.pid, signal.SIGKILL)
            lost.workers[0].kill()
            with pytest.raises(InputError) as error:
                list(results)
    assert error.value.where == f"on {place}"
    assert "the scheduler was lost after" in error.value.found
    assert f"of {count} designs" in error.value.found


def test_a_scheduler_that_does_not_answer_is_an_error(
    file: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(dask_cluster, "CONNECT_SECONDS", 0.5)
    with pytest.raises(InputError) as error:
        nestmap.sweep(file, on="tcp://127.0.0.1:9")
    assert error.value.where == "on tcp://127.0.0.1:9"
    assert error.value.found.startswith("no answer (")
    assert error.value.expected == "a Dask scheduler that runs"


def test_a_silent_server_is_an_error_in_time(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dask_cluster, "CONNECT_SECONDS", 0.5)
    told = tmp_path / "scheduler.json"
    with socket.create_server(("127.0.0.1", 0)) as silent:
        told.write_text(json.dumps({"address": f"tcp://127.0.0.1:{silent.getsockname()[1]}"}))
        with pytest.raises(InputError, match=r"found no answer within 0.5 s; expected"):
            nestmap.sweep(file, on=str(told))


@pytest.mark.parametrize(
    "address", ["tcp://127.0.0.1:9", "tcp://host.invalid:8786", "tcp://127.0.0.1", "foo://x:1", ""]
)
def test_a_wrong_address_in_a_file_is_an_error_at_once(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, address: str
) -> None:
    monkeypatch.setattr(dask_cluster, "CONNECT_SECONDS", 1e9)  # nothing waits for it
    told = tmp_path / "scheduler.json"
    told.write_text(json.dumps({"address": address}))
    with pytest.raises(InputError, match=r"found no answer \("):
        nestmap.sweep(file, on=str(told))


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (None, "No such file or directory"),
        ("{", "a file that is not JSON"),
        ("[]", "a file without an address"),
        ('{"address": 7}', "a file without an address"),
    ],
)
def test_files_that_no_scheduler_has_written_are_errors(
    file: Path, tmp_path: Path, text: str | None, found: str
) -> None:
    told = tmp_path / "scheduler.json"
    if text is not None:
        told.write_text(text)
    with pytest.raises(InputError) as error:
        nestmap.sweep(file, on=str(told))
    assert (error.value.where, error.value.found) == (f"on {told}", found)


def test_a_scheduler_without_workers_is_an_error(
    file: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with started(tmp_path, 0) as alone:
        monkeypatch.setattr(dask_cluster, "WORKER_SECONDS", 2.0)
        with pytest.raises(InputError, match="found no worker within 2 s; expected workers with"):
            nestmap.sweep(file, on=alone.address)


OTHER_CODE: Final = """

def _explore(job, design):
    return _Answer((), build_of_process())
"""
OLDER_CODE: Final = """

def _explore(job, design):
    return ()


del build_of_process
"""
FAILING_CODE: Final = """

def _explore(job, design):
    raise ValueError("no such field")
"""
OTHERS: Final = {"other": OTHER_CODE, "older": OLDER_CODE, "failing": FAILING_CODE}


def other_code(folder: Path, appended: str) -> Path:
    """A folder with nestmap as it is not here; an older one does not say what it runs."""
    package = folder / "nestmap"
    shutil.copytree(Path(nestmap.__file__).parent, package, ignore=shutil.ignore_patterns("*.pyc"))
    with (package / "pipeline/sweep/workers/dask_cluster.py").open("a") as changed:
        changed.write(appended)
    return folder


def connected(cluster: Cluster) -> Client:
    """A client of our own, to see who is there."""
    connect: Callable[[str], Client] = Client
    return connect(cluster.address)


@pytest.mark.parametrize("appended", OTHERS.values(), ids=OTHERS)
def test_a_late_worker_with_other_code_is_named_and_changes_nothing(
    file: Path, tmp_path: Path, appended: str
) -> None:
    code, path = other_code(tmp_path / "other", appended), tmp_path / "s.duckdb"
    threads = nestmap.sweep(file)
    with started(tmp_path, 1) as mixed, connected(mixed) as client:

        def join() -> None:
            mixed.start_worker(code)
            client.wait_for_workers(2, 120)

        joins = After(2, join)
        with pytest.warns(InputWarning, match=r"worker tcp://\S+ with .*computed again"):
            found = nestmap.sweep(file, on=mixed.address, store=path, runs="none", progress=joins)
    assert found == threads
    assert recorded(path) == DESIGNS
    assert exported(nestmap.recorded_sweep("small", path)) == exported(threads)


@pytest.mark.parametrize(
    ("appended", "runs"), [(OTHER_CODE, "nestmap 0.1.0"), (OLDER_CODE, "")], ids=["other", "older"]
)
def test_workers_that_all_run_other_code_are_an_error(
    file: Path, tmp_path: Path, appended: str, runs: str
) -> None:
    code = other_code(tmp_path / "other", appended)
    with started(tmp_path, 0) as strange:
        strange.start_worker(code)
        words = rf"worker tcp://\S+ with {runs}.*; expected workers with the code that runs"
        with pytest.raises(InputError, match=words):
            nestmap.sweep(file, on=strange.address)


def test_workers_that_all_run_other_code_later_are_an_error(file: Path, tmp_path: Path) -> None:
    code = other_code(tmp_path / "other", OTHER_CODE)
    with started(tmp_path, 1) as mixed, connected(mixed) as client:

        def join() -> None:
            mixed.start_worker(code)
            client.wait_for_workers(2, 120)
            mixed.workers[0].kill()

        with pytest.warns(InputWarning), pytest.raises(InputError, match=r"worker tcp://\S+ with"):
            nestmap.sweep(file, on=mixed.address, progress=After(2, join))
