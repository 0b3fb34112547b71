"""Runs whose process is gone, whose process id is used again, or that another machine runs."""

import os
import subprocess
import sys
from collections.abc import Generator
from pathlib import Path
from uuid import UUID

import pytest

from nestmap.model import StoreError
from nestmap.store import RunStatus, Store
from nestmap.store.connection.connect import connect
from nestmap.store.rows.run_processes import identity_elsewhere, process_identity
from tests.store.builders import info

NO_PROCESS = 2**22 + 1  # Linux numbers them up to 2^22


@pytest.fixture(name="path")
def _path(tmp_path: Path) -> Path:
    return tmp_path / "runs.duckdb"


@pytest.fixture(name="other")
def _other() -> Generator[int]:
    """Another process, which exists."""
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        yield process.pid
        process.kill()


def left_running(path: Path, host: str | None, pid: int, process: str | None) -> UUID:
    """A run that is recorded as running in that process."""
    with Store.open(path) as store, store.start_run(info()) as run:
        pass
    with connect(path) as connection:
        connection.execute(
            "UPDATE runs SET status = 'running', host = coalesce(?, host), pid = ?, process = ?",
            [host, pid, process],
        )
    return run.id


def test_identities(other: int) -> None:
    for identity in (process_identity, identity_elsewhere):
        mine = identity(os.getpid())
        assert mine
        assert identity(os.getpid()) == mine
        assert identity(other) not in (None, "", mine)
        assert identity(NO_PROCESS) is None


@pytest.mark.skipif(sys.platform == "win32", reason="has no such state")
def test_a_process_that_has_ended_and_was_not_waited_for_is_gone() -> None:
    with subprocess.Popen([sys.executable, "-c", "print()"], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.read()
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        assert process_identity(process.pid) is None
        assert identity_elsewhere(process.pid) is None


def test_a_run_records_its_process(path: Path) -> None:
    with Store.open(path) as store, store.start_run(info()) as run:
        (row,) = store.query("SELECT pid, process FROM runs").rows()
        assert row == {"pid": os.getpid(), "process": process_identity(os.getpid())}
        run.fail("enough")


def test_a_process_id_that_is_used_again_does_not_block_a_run(path: Path, other: int) -> None:
    run = left_running(path, None, other, "an earlier boot 17")
    with Store.open(path) as store:
        assert store.run(run).status is RunStatus.INTERRUPTED
        store.resume_run(run).fail("enough")


def test_a_process_that_exists_keeps_its_run(path: Path, other: int) -> None:
    run = left_running(path, None, other, process_identity(other))
    with Store.open(path) as store:
        with pytest.raises(StoreError, match=rf"process {other} is still running it; expected"):
            store.resume_run(run)
        with pytest.raises(StoreError, match=r"which --force does not change"):
            store.release_run(run)
        assert store.run(run).status is RunStatus.RUNNING


def test_a_run_of_this_process_is_not_released(path: Path) -> None:
    with Store.open(path) as store, store.start_run(info()) as run:
        with pytest.raises(StoreError, match=r"is still running it"):
            store.release_run(run.id)
        run.fail("enough")
        store.release_run(run.id)
        assert store.run(run.id).status is RunStatus.FAILED


@pytest.mark.parametrize("host", [None, "elsewhere"])
def test_a_run_that_may_be_running_is_resumed_once_released(
    path: Path, other: int, host: str | None
) -> None:
    run = left_running(path, host, other, None)
    with Store.open(path) as store:
        with pytest.raises(StoreError, match=rf"process {other} .* use --force") as refused:
            store.resume_run(run)
        assert ("machine elsewhere" in str(refused.value)) == (host is not None)
        store.release_run(run)
        assert store.run(run).status is RunStatus.INTERRUPTED
        store.resume_run(run).fail("enough")
