"""Rows of runs: their start, end and status, and their descriptions read back."""

from datetime import UTC, datetime
from itertools import product
from typing import TypedDict
from uuid import UUID

import duckdb

from nestmap.model import (
    Accelerator,
    MappingConstraints,
    NetworkProblem,
    Objective,
    Recording,
    RecordMode,
    RunLabel,
    StoreError,
    Workload,
)
from nestmap.model.multicore.accelerator import ComputeCore, Core, MultiCoreAccelerator
from nestmap.model.multicore.core_constraints import CoreMapping
from nestmap.model.multicore.interconnect import Interconnect
from nestmap.model.multicore.top_memories import TopMemories
from nestmap.store.rows.content import (
    OnConflict,
    Row,
    insert,
    known_hashes,
    write_accelerators,
    write_workload,
)
from nestmap.store.rows.run_kinds import RunKind, RunStatus
from nestmap.store.rows.run_processes import begin_process
from nestmap.store.rows.run_records import RecordedNumbers, RunInfo, RunRecord, StreamInfo
from nestmap.store.schema.tables import RUN_TABLES

# --- rows of multi-core accelerators: cores, top memories, channels and paths ---


class _Accelerator(TypedDict):
    accelerator: str


def write_multicore_accelerator(
    connection: duckdb.DuckDBPyConnection, machine: MultiCoreAccelerator
) -> None:
    """Writes an accelerator, its cores, memories, channels and paths, unless the store has it."""
    key = machine.content_hash
    if key in known_hashes(connection, "accelerators", [key]):
        return
    insert(connection, "accelerators", [_accelerator_row(key, machine)], OnConflict.KEEP)
    of: _Accelerator = {"accelerator": key}
    cores: list[Row] = [{**of, **_core_columns(machine, core)} for core in machine.cores]
    insert(connection, "cores", cores, OnConflict.KEEP)
    homes: list[Row] = [
        {
            **of,
            "memory": place,
            "name": home.name,
            "cores": list(home.cores),
            "size": home.level.instance.size,
        }
        for place, home in enumerate(TopMemories(accelerator=machine).memories)
    ]
    insert(connection, "homes", homes, OnConflict.KEEP)
    _write_interconnect(connection, of, Interconnect(accelerator=machine))


def _accelerator_row(key: str, machine: MultiCoreAccelerator) -> Row:
    from nestmap.costmodel.core_areas import chip_area  # noqa: PLC0415 (imports the JIT)

    return {
        "hash": key,
        "name": machine.name,
        "cores": len(machine.cores),
        "units": sum(core.accelerator.array.units for core in machine.compute_cores),
        "area": chip_area(machine),
        "json": machine.model_dump_json(),
    }


def _core_columns(machine: MultiCoreAccelerator, core: Core) -> Row:
    computing = core if isinstance(core, ComputeCore) else None
    return {
        "core": core.id,
        "name": core.name,
        "kind": core.kind,
        "offchip": core.id == machine.offchip,
        "operators": list(computing.operators) if computing else [],
        "units": computing.accelerator.array.units if computing else 0,
    }


def _write_interconnect(
    connection: duckdb.DuckDBPyConnection, of: _Accelerator, ways: Interconnect
) -> None:
    wires: list[Row] = [
        {**of, "wire": place, **wire.model_dump()} for place, wire in enumerate(ways.channels)
    ]
    insert(connection, "wires", wires, OnConflict.KEEP)
    numbers = [core.id for core in ways.accelerator.cores]
    paths: list[Row] = [
        {**of, "sender": sender, "receiver": receiver, "wires": list(ways.path(sender, receiver))}
        for sender, receiver in product(numbers, repeat=2)
        if _has_path(ways, sender, receiver)
    ]
    insert(connection, "paths", paths, OnConflict.KEEP)


def _has_path(ways: Interconnect, sender: int, receiver: int) -> bool:
    try:
        ways.path(sender, receiver)
    except KeyError:
        return False
    return True


# --- rows of runs: their start, end and status, and their descriptions read back ---

_RunRow = tuple[
    UUID, str, str, str, str, str, datetime, datetime | None, str, str | None, str, int,
    float | None, int, str, str | None, list[str] | None,
]  # fmt: skip
_InfoRow = tuple[
    str, str, str, str, str, str, bool, int | None, str, int | None, bool, str, str, str,
    str | None, list[str] | None,
]  # fmt: skip
_StreamRow = tuple[
    str, str, str, str, str, str, int | None, str, str, str, str | None, list[str] | None
]  # fmt: skip

_RUNS = """
SELECT run.id, command, version, objective, workload.name, accelerator.name, started, ended,
       status, reason, host, pid, cpu_seconds, resumed, kind, run.name, tags
FROM runs AS run
JOIN workloads AS workload ON workload.hash = run.workload
JOIN accelerators AS accelerator ON accelerator.hash = run.accelerator
"""
_ORDER = " ORDER BY started, run.id"
_ONE = _RUNS + "WHERE run.id = ?"
_INFO = """
SELECT command, version, objective, pipeline, options, versions, pareto, seed, record,
       record_limit, fresh, workload.json, accelerator.json, constraints, run.name, tags
FROM runs AS run
JOIN workloads AS workload ON workload.hash = run.workload
JOIN accelerators AS accelerator ON accelerator.hash = run.accelerator
WHERE run.id = ? AND kind = 'explore'
"""
_STREAM_INFO = """
SELECT command, version, objective, pipeline, options, versions, seed, workload.json,
       accelerator.json, constraints, run.name, tags
FROM runs AS run
JOIN workloads AS workload ON workload.hash = run.workload
JOIN accelerators AS accelerator ON accelerator.hash = run.accelerator
WHERE run.id = ? AND kind = 'stream'
"""
_RESUME = """
UPDATE runs SET status = 'running', reason = NULL, ended = NULL, host = ?, pid = ?,
                process = ?, resumed = resumed + 1
WHERE id = ?
"""
_END = """
UPDATE runs SET status = ?, reason = ?, ended = ?, cpu_seconds = coalesce(cpu_seconds, 0) + ?
WHERE id = ?
"""
_RECORDED = """
SELECT count(*) FILTER (number = place),
  coalesce(list(number) FILTER (number <> place), [])
FROM (
  SELECT number, row_number() OVER (ORDER BY number) - 1 AS place
  FROM evaluation_rows WHERE search = ?
)
"""
_OF_NO_DESIGN = """
SELECT id FROM runs
WHERE list_contains(tags, $tag) AND (
  status = 'interrupted' OR status = 'done' AND accelerator NOT IN (
    SELECT accelerator FROM sweep_designs WHERE sweep = $sweep AND accelerator IS NOT NULL
  )
)
"""
_UNLINKED = "SELECT id FROM searches WHERE id NOT IN (SELECT search FROM run_searches)"
_DELETE = (
    "DELETE FROM evaluation_rows WHERE search IN (SELECT unnest(?))",
    "DELETE FROM infeasible WHERE search IN (SELECT unnest(?))",
    "DELETE FROM searches WHERE id IN (SELECT unnest(?))",
)


def start_run(
    connection: duckdb.DuckDBPyConnection, run: UUID, info: RunInfo | StreamInfo, resumed: bool
) -> None:
    """Records that this process starts or resumes a run."""
    process = begin_process(run)
    if resumed:
        connection.execute(_RESUME, [*process.values(), run])
        return
    if isinstance(info, StreamInfo):
        write_workload(connection, info.workload)
        write_multicore_accelerator(connection, info.accelerator)
        own = _stream_row(info)
    else:
        write_workload(connection, info.network.workload)
        write_accelerators(connection, [info.network.accelerator])
        own = _explore_row(info)
    insert(connection, "runs", [{**_row(run, info), **process, **own}])


def _row(run: UUID, info: RunInfo | StreamInfo) -> Row:
    return {
        "id": str(run),
        "name": info.label.name,
        "tags": list(info.label.tags),
        "command": info.command,
        "version": info.version,
        "versions": info.versions,
        "objective": info.objective.value,
        "pipeline": info.pipeline,
        "options": info.options,
        "seed": info.seed,
        "started": _now(),
        "status": RunStatus.RUNNING.value,
    }


def _stream_row(info: StreamInfo) -> Row:
    return {
        "kind": RunKind.STREAM.value,
        "workload": info.workload.content_hash,
        "accelerator": info.accelerator.content_hash,
        "constraints": info.mapping.model_dump_json(),
    }


def _explore_row(info: RunInfo) -> Row:
    network = info.network
    return {
        "kind": RunKind.EXPLORE.value,
        "pareto": info.pareto,
        "record": info.recording.record.value,
        "record_limit": info.recording.limit,
        "fresh": info.recording.fresh,
        "workload": network.workload.content_hash,
        "accelerator": network.accelerator.content_hash,
        "constraints": network.constraints.model_dump_json(),
    }


def end_run(
    connection: duckdb.DuckDBPyConnection,
    run: UUID,
    status: RunStatus,
    reason: str | None,
    cpu_seconds: float,
) -> None:
    """Records the end of a run; ``cpu_seconds`` counts from its start or last resumption."""
    connection.execute(_END, [status.value, reason, _now(), cpu_seconds, run])


def recorded_numbers(connection: duckdb.DuckDBPyConnection, search: int) -> RecordedNumbers:
    """The evaluations of a search that are recorded."""
    rows: list[tuple[int, list[int]]] = connection.execute(_RECORDED, [search]).fetchall()
    first, others = rows[0]
    return RecordedNumbers(first, frozenset(others))


def delete_runs_of_no_design(connection: duckdb.DuckDBPyConnection, sweep: str, tag: str) -> None:
    """Removes the runs with a tag that are interrupted, or of no design that a sweep has recorded.

    With them go the searches that no other run has.
    """
    asked = {"sweep": sweep, "tag": tag}
    rows: list[tuple[UUID]] = connection.execute(_OF_NO_DESIGN, asked).fetchall()
    runs = [run for (run,) in rows]
    if not runs:
        return
    for table, column in RUN_TABLES.items():
        connection.execute(f"DELETE FROM {table} WHERE {column} IN (SELECT unnest(?))", [runs])
    delete_unlinked_searches(connection)


def delete_unlinked_searches(connection: duckdb.DuckDBPyConnection) -> None:
    """Removes searches that no run has: another one has completed them, or the run is removed."""
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
     host, pid, cpu_seconds, resumed, kind, name, tags) = row  # fmt: skip
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
        kind=RunKind(kind),
        label=RunLabel(name=name, tags=tuple(tags or ())),
    )


def read_info(connection: duckdb.DuckDBPyConnection, run: UUID) -> RunInfo:
    """The description of a single-core run.

    Raises:
        StoreError: if there is no such run, or it is a multi-core run.
    """
    rows: list[_InfoRow] = connection.execute(_INFO, [run]).fetchall()
    if not rows:
        check_single_core(read_run(connection, run))
    (command, version, objective, pipeline, options, versions, pareto, seed, record, limit,
     fresh, workload, accelerator, constraints, name, tags) = rows[0]  # fmt: skip
    return RunInfo(
        command=command,
        version=version,
        objective=Objective(objective),
        network=NetworkProblem(
            workload=Workload.model_validate_json(workload),
            accelerator=Accelerator.model_validate_json(accelerator),
            constraints=MappingConstraints.model_validate_json(constraints),
        ),
        pipeline=pipeline,
        options=options,
        versions=versions,
        pareto=pareto,
        seed=seed,
        recording=Recording(record=RecordMode(record), limit=limit, fresh=fresh),
        label=RunLabel(name=name, tags=tuple(tags or ())),
    )


def check_single_core(record: RunRecord) -> None:
    """Checks that a run is a single-core run.

    Raises:
        StoreError: if it is a multi-core run.
    """
    if record.kind is not RunKind.EXPLORE:
        raise StoreError(
            f"run {record.id}: found a multi-core run; expected a single-core run, as recorded by "
            "nestmap explore"
        )


def read_stream_info(connection: duckdb.DuckDBPyConnection, run: UUID) -> StreamInfo:
    """The description of a multi-core run.

    Raises:
        StoreError: if there is no such run, or it is a single-core run.
    """
    rows: list[_StreamRow] = connection.execute(_STREAM_INFO, [run]).fetchall()
    if not rows:
        read_run(connection, run)
        raise StoreError(
            f"run {run}: found a single-core run; expected a multi-core run, as recorded by "
            "nestmap stream"
        )
    (command, version, objective, pipeline, options, versions, seed, workload, accelerator,
     mapping, name, tags) = rows[0]  # fmt: skip
    return StreamInfo(
        command=command,
        version=version,
        objective=Objective(objective),
        workload=Workload.model_validate_json(workload),
        accelerator=MultiCoreAccelerator.model_validate_json(accelerator),
        mapping=CoreMapping.model_validate_json(mapping),
        pipeline=pipeline,
        options=options,
        versions=versions,
        seed=seed,
        label=RunLabel(name=name, tags=tuple(tags or ())),
    )


def unknown_run(run: UUID) -> StoreError:
    """The error for an unknown run."""
    return StoreError(
        f"run {run}: not in this store; expected a run that nestmap query history lists"
    )


def _now() -> datetime:
    """The current time in UTC without a time zone, as in DuckDB's TIMESTAMP."""
    return datetime.now(UTC).replace(tzinfo=None)
