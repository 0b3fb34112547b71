"""The processes that execute runs: which one it is, and whether it still exists."""

import os
import socket
import sys
from pathlib import Path
from typing import Final
from uuid import UUID

import duckdb

from nestmap.model import StoreError
from nestmap.store.rows.content import Row
from nestmap.store.rows.run_kinds import RunStatus
from nestmap.store.rows.run_records import RunRecord

_RUNNING_HERE: Final = "SELECT id, pid, process FROM runs WHERE status = 'running' AND host = ?"
_KILLED: Final = """
UPDATE runs SET status = 'interrupted', reason = 'process exited without finishing the run'
WHERE id IN (SELECT unnest(?::UUID[]))
"""
_PROCESS: Final = "SELECT process FROM runs WHERE id = ?"
_RELEASED: Final = """
UPDATE runs SET status = 'interrupted', reason = 'released by the user' WHERE id = ?
"""

_UNKNOWN: Final = ""
_OURS: set[UUID] = set()


def begin_process(run: UUID) -> Row:
    """Notes that this process executes a run; the columns of ``runs`` that say so."""
    _OURS.add(run)
    pid = os.getpid()
    return {"host": socket.gethostname(), "pid": pid, "process": process_identity(pid) or None}


def forget_run(run: UUID) -> None:
    """Forgets that this process executes a run, whether or not its end could be recorded."""
    _OURS.discard(run)


def mark_interrupted(connection: duckdb.DuckDBPyConnection) -> None:
    """Marks runs as ``interrupted`` whose process on this machine no longer exists."""
    rows: list[tuple[UUID, int, str | None]]
    rows = connection.execute(_RUNNING_HERE, [socket.gethostname()]).fetchall()
    gone = [str(run) for run, pid, process in rows if not _is_running(run, pid, process)]
    if gone:
        connection.execute(_KILLED, [gone])


def release_run(connection: duckdb.DuckDBPyConnection, run: RunRecord) -> None:
    """Marks a running run as ``interrupted`` because its user says that its process is gone.

    Raises:
        StoreError: if that process certainly exists.
    """
    if run.status is not RunStatus.RUNNING:
        return
    rows: list[tuple[str | None]] = connection.execute(_PROCESS, [run.id]).fetchall()
    ((process,),) = rows
    here = run.host == socket.gethostname()
    if run.id in _OURS or (here and process and process == process_identity(run.pid)):
        raise StoreError(
            f"run {run.id}: process {run.pid} is still running it, which --force does not change; "
            "expected one that has ended: wait until it ends, or end it"
        )
    connection.execute(_RELEASED, [run.id])


def check_not_running(run: RunRecord) -> None:
    """Checks that no process executes a run, as far as this machine knows.

    Raises:
        StoreError: if one does, or another machine's may.
    """
    if run.status is not RunStatus.RUNNING:
        return
    if run.host == socket.gethostname():
        found = f"process {run.pid} is still running it"
        gone = f"if process {run.pid} is another program, use --force"
    else:
        found = f"process {run.pid} of machine {run.host} may still be running it"
        gone = "if it is gone, use --force"
    raise StoreError(
        f"run {run.id}: {found}; expected one that was interrupted or failed: wait until it ends, "
        f"or end it; {gone}"
    )


def _is_running(run: UUID, pid: int, recorded: str | None) -> bool:
    if pid == os.getpid():  # in a container, a killed run may have had the same process id
        return run in _OURS
    found = process_identity(pid)
    if found is None:
        return False
    return not recorded or found in (recorded, _UNKNOWN)


def process_identity(pid: int) -> str | None:
    """When a process of this machine started, which differs if its number is used again.

    ``None``: there is no such process; empty: it cannot be told.
    """
    return _identity_on_linux(pid) if sys.platform == "linux" else identity_elsewhere(pid)


def _identity_on_linux(pid: int) -> str | None:
    """The number of ticks after a boot, and which one: unlike a time, no clock changes them."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return None
    except PermissionError:  # a process of another user
        pass
    try:
        state, *fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:  # which some systems hide from other users
        return _UNKNOWN
    return None if state == "Z" else f"{boot} {fields[18]}"


def identity_elsewhere(pid: int) -> str | None:
    """The time that the operating system has recorded."""
    import psutil  # noqa: PLC0415 (not needed on Linux)

    try:
        process = psutil.Process(pid)
        return None if process.status() == psutil.STATUS_ZOMBIE else f"{process.create_time():.3f}"
    except psutil.AccessDenied:
        return _UNKNOWN
    except psutil.NoSuchProcess:
        return None
