"""The rows of runs: how they begin, end, and are read."""

from __future__ import annotations

import os
import socket
from datetime import UTC, datetime
from uuid import UUID

import duckdb
from pydantic import TypeAdapter

from nestmap.model import (
    Accelerator,
    LayerTopLevels,
    MappingConstraints,
    NetworkProblem,
    Objective,
    Recording,
    RecordMode,
    StoreError,
    Workload,
)
from nestmap.store.content import Row, insert, write_accelerators, write_workload
from nestmap.store.records import RunInfo, RunRecord, RunStatus

_RunRow = tuple[
    UUID, str, str, str, str, str, datetime, datetime | None, str, str | None, str, int,
    float | None, int,
]  # fmt: skip
_InfoRow = tuple[
    str, str, str, str, str, str, bool, int | None, str, int | None, bool, str, str, str, str
]  # fmt: skip

_RUNS = """
SELECT run.id, command, version, objective, workload.name, accelerator.name, started, ended,
       status, reason, host, pid, cpu_seconds, resumed
FROM runs AS run
JOIN workloads AS workload ON workload.hash = run.workload
JOIN accelerators AS accelerator ON accelerator.hash = run.accelerator
"""
_ORDER = " ORDER BY started, run.id"
_ONE = _RUNS + "WHERE run.id = ?"
_INFO = """
SELECT command, version, objective, pipeline, options, versions, pareto, seed, record,
       record_limit, fresh, workload.json, accelerator.json, constraints, top_levels
FROM runs AS run
JOIN workloads AS workload ON workload.hash = run.workload
JOIN accelerators AS accelerator ON accelerator.hash = run.accelerator
WHERE run.id = ?
"""
_RESUME = """
UPDATE runs SET status = 'running', reason = NULL, ended = NULL, host = ?, pid = ?,
                resumed = resumed + 1
WHERE id = ?
"""
_END = """
UPDATE runs SET status = ?, reason = ?, ended = ?, cpu_seconds = coalesce(cpu_seconds, 0) + ?
WHERE id = ?
"""
_RUNNING_HERE = "SELECT id, pid FROM runs WHERE status = 'running' AND host = ?"
_KILLED = """
UPDATE runs SET status = 'interrupted', reason = 'its process ended without a word'
WHERE id IN (SELECT unnest(?::UUID[]))
"""
_COUNT = """
SELECT count(*) FROM evaluation_rows
WHERE search IN (SELECT search FROM run_searches WHERE run = ? AND NOT recalled)
"""
_COUNT_ONE = "SELECT count(*) FROM evaluation_rows WHERE search = ?"
_UNLINKED = "SELECT id FROM searches WHERE id NOT IN (SELECT search FROM run_searches)"
_DELETE = (
    "DELETE FROM evaluation_rows WHERE search IN (SELECT unnest(?))",
    "DELETE FROM infeasible WHERE search IN (SELECT unnest(?))",
    "DELETE FROM searches WHERE id IN (SELECT unnest(?))",
)

_TopLevels = TypeAdapter(tuple[LayerTopLevels, ...])

_OURS: set[UUID] = set()


def begin_run(
    connection: duckdb.DuckDBPyConnection, run: UUID, info: RunInfo, resumed: bool
) -> None:
    """Writes that a run of this process has begun, or goes on."""
    _OURS.add(run)
    if resumed:
        connection.execute(_RESUME, [socket.gethostname(), os.getpid(), run])
        return
    network = info.network
    write_workload(connection, network.workload)
    write_accelerators(connection, [network.accelerator])
    insert(connection, "runs", [_row(run, info)])


def _row(run: UUID, info: RunInfo) -> Row:
    network = info.network
    top_levels = ", ".join(entry.model_dump_json() for entry in network.top_levels)
    return {
        "id": str(run),
        "command": info.command,
        "version": info.version,
        "versions": info.versions,
        "objective": info.objective.value,
        "pipeline": info.pipeline,
        "options": info.options,
        "pareto": info.pareto,
        "seed": info.seed,
        "record": info.recording.record.value,
        "record_limit": info.recording.limit,
        "fresh": info.recording.fresh,
        "workload": network.workload.content_hash,
        "accelerator": network.accelerator.content_hash,
        "constraints": network.constraints.model_dump_json(),
        "top_levels": f"[{top_levels}]",
        "host": socket.gethostname(),
        "pid": os.getpid(),
        "started": _now(),
        "status": RunStatus.RUNNING.value,
    }


def end_run(
    connection: duckdb.DuckDBPyConnection,
    run: UUID,
    status: RunStatus,
    reason: str | None,
    cpu_seconds: float,
) -> None:
    """Writes how a run has ended; the processor time is that since it began or went on."""
    connection.execute(_END, [status.value, reason, _now(), cpu_seconds, run])


def let_go(run: UUID) -> None:
    """Says that this process does no more for a run, whether its end can be written or not."""
    _OURS.discard(run)


def mark_killed(connection: duckdb.DuckDBPyConnection) -> None:
    """Runs whose process on this machine is gone become ``interrupted``."""
    rows: list[tuple[UUID, int]]
    rows = connection.execute(_RUNNING_HERE, [socket.gethostname()]).fetchall()
    gone = [str(run) for run, pid in rows if not _goes_on(run, pid)]
    if gone:
        connection.execute(_KILLED, [gone])


def _goes_on(run: UUID, pid: int) -> bool:
    if pid == os.getpid():  # which, in a container, may be what the process of a killed run had
        return run in _OURS
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # another user's
        return True
    return True


def count_rows(connection: duckdb.DuckDBPyConnection, run: UUID, search: int | None = None) -> int:
    """How many evaluations a run has recorded, or are recorded of one search."""
    sql, key = (_COUNT, run) if search is None else (_COUNT_ONE, search)
    rows: list[tuple[int]] = connection.execute(sql, [key]).fetchall()
    return rows[0][0]


def drop_unlinked(connection: duckdb.DuckDBPyConnection) -> None:
    """Removes searches that were interrupted and that, since, another run has completed."""
    rows: list[tuple[int]] = connection.execute(_UNLINKED).fetchall()
    unlinked = [search for (search,) in rows]
    if not unlinked:
        return
    for table, column in (
        ("evaluation_rows", "search"),
        ("infeasible", "search"),
        ("searches", "id"),
    ):
        connection.execute(f"DELETE FROM {table} WHERE {column} IN (SELECT unnest(?))", [unlinked])


def read_runs(connection: duckdb.DuckDBPyConnection) -> tuple[RunRecord, ...]:
    """All runs, oldest first."""
    return tuple(_record(row) for row in connection.execute(_RUNS + _ORDER).fetchall())


def read_run(connection: duckdb.DuckDBPyConnection, run: UUID) -> RunRecord:
    """One run.

    Raises:
        StoreError: if there is no such run.
    """
    rows = connection.execute(_ONE, [run]).fetchall()
    if not rows:
        raise unknown_run(run)
    return _record(rows[0])


def _record(row: _RunRow) -> RunRecord:
    (run, command, version, objective, workload, accelerator, started, ended, status, reason,
     host, pid, cpu_seconds, resumed) = row  # fmt: skip
    return RunRecord(
        id=run,
        command=command,
        version=version,
        objective=Objective(objective),
        workload=workload,
        accelerator=accelerator,
        started=started.replace(tzinfo=UTC),
        ended=None if ended is None else ended.replace(tzinfo=UTC),
        status=RunStatus(status),
        reason=reason,
        host=host,
        pid=pid,
        cpu_seconds=cpu_seconds,
        resumed=resumed,
    )


def read_info(connection: duckdb.DuckDBPyConnection, run: UUID) -> RunInfo:
    """What a run was asked.

    Raises:
        StoreError: if there is no such run.
    """
    rows: list[_InfoRow] = connection.execute(_INFO, [run]).fetchall()
    if not rows:
        raise unknown_run(run)
    (command, version, objective, pipeline, options, versions, pareto, seed, record, limit,
     fresh, workload, accelerator, constraints, top_levels) = rows[0]  # fmt: skip
    return RunInfo(
        command=command,
        version=version,
        objective=Objective(objective),
        network=NetworkProblem(
            workload=Workload.model_validate_json(workload),
            accelerator=Accelerator.model_validate_json(accelerator),
            constraints=MappingConstraints.model_validate_json(constraints),
            top_levels=_TopLevels.validate_json(top_levels),
        ),
        pipeline=pipeline,
        options=options,
        versions=versions,
        pareto=pareto,
        seed=seed,
        recording=Recording(record=RecordMode(record), limit=limit, fresh=fresh),
    )


def unknown_run(run: UUID) -> StoreError:
    """The error for a run that is not there."""
    return StoreError(
        f"run {run}: not in this store; expected one of those that nestmap query history lists"
    )


def _now() -> datetime:
    """The time (UTC), without saying that it is UTC: DuckDB's TIMESTAMP has no zone."""
    return datetime.now(UTC).replace(tzinfo=None)
