"""Reading the store: SQL for users, and typed models back from rows."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TypedDict, cast
from uuid import UUID

import duckdb
import pyarrow as pa

from nestmap.model import (
    Accelerator,
    CostModelEvaluation,
    EvaluationBatch,
    Infeasibility,
    Layer,
    LayerConstraints,
    LayerResult,
    Loop,
    MappingProblem,
    NetworkEvaluation,
    Objective,
    SearchStatistics,
    SpatialMapping,
    SpatialProblem,
    StoreError,
    VectorEvaluation,
    Workload,
)
from nestmap.store.columns import from_arrow
from nestmap.store.records import RunRecord, RunStatus

_RunRow = tuple[
    UUID, str, str, str, str, str, datetime, datetime | None, str, str | None
]  # fmt: skip


class _LoopRow(TypedDict):
    dimension: str
    size: int


class _InfeasibleRow(TypedDict):
    reason: str
    count: int


_SearchRow = tuple[int, str, str, str, list[_LoopRow], int]

Value = str | int | float | bool | datetime | UUID | None
"""What a parameter of a query may be."""

_RUNS = """
SELECT run.id, command, version, objective, workload.name, accelerator.name, started, ended,
       status, reason
FROM runs AS run
JOIN workloads AS workload ON workload.hash = run.workload
JOIN accelerators AS accelerator ON accelerator.hash = run.accelerator
ORDER BY started, run.id
"""
_RESULTS = (
    "SELECT cme, evaluations, infeasible, pruned, repeats FROM results WHERE run = ? "
    "ORDER BY position"
)
_FIELDS = tuple(VectorEvaluation.model_fields)
_VECTOR = f"SELECT {', '.join(_FIELDS)} FROM vector_results WHERE run = ? ORDER BY position"
_COUNTED = "SELECT vector_counted FROM runs WHERE id = ?"
_SEARCHES = """
SELECT search.id, accelerator.json, mapping.json, constraints, factors, ideal_cycles
FROM searches AS search
JOIN accelerators AS accelerator ON accelerator.hash = search.accelerator
JOIN spatial_mappings AS mapping ON mapping.hash = search.spatial_mapping
WHERE run = ? AND layer = ? ORDER BY search.id
"""
_ROWS = """
SELECT ordering, cuts, energy, latency0, latency1, latency2
FROM evaluation_rows WHERE search = ? ORDER BY number
"""
_INFEASIBLE = "SELECT reason, count FROM infeasible WHERE search = ? ORDER BY count DESC, reason"
_WORKLOAD = """
SELECT workload.json FROM runs AS run
JOIN workloads AS workload ON workload.hash = run.workload
WHERE run.id = ?
"""


def query(
    connection: duckdb.DuckDBPyConnection, sql: str, parameters: Sequence[Value] = ()
) -> pa.Table:
    """The answer to a question in SQL, each ``?`` in it standing for one of the parameters.

    Raises:
        StoreError: with DuckDB's own words, if it is not valid.
    """
    try:
        if not connection.extract_statements(sql):
            raise StoreError(f"query: found no statement in {sql!r}; expected SQL")
        # the stubs do not say that a statement without an answer gives no relation
        answer = cast(
            "duckdb.DuckDBPyRelation | None", connection.sql(sql, params=list(parameters))
        )
        return pa.table({}) if answer is None else answer.to_arrow_table()
    except duckdb.Error as error:
        raise StoreError(f"query: {error}") from None


def read_runs(connection: duckdb.DuckDBPyConnection) -> tuple[RunRecord, ...]:
    """All runs, oldest first."""
    return tuple(_record(row) for row in connection.execute(_RUNS).fetchall())


def _record(row: _RunRow) -> RunRecord:
    run, command, version, objective, workload, accelerator, started, ended, status, reason = row
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
    )


def read_results(connection: duckdb.DuckDBPyConnection, run: UUID) -> NetworkEvaluation:
    """The results of a finished run.

    Raises:
        StoreError: if there is no such run, or it has no results.
    """
    rows: list[tuple[str, int, list[_InfeasibleRow], int, str | None]]
    rows = connection.execute(_RESULTS, [run]).fetchall()
    if not rows:
        raise StoreError(f"run {run}: {_why_no_results(connection, run)}")
    counted: list[tuple[bool]] = connection.execute(_COUNTED, [run]).fetchall()
    vector: list[tuple[str | int | float, ...]] = connection.execute(_VECTOR, [run]).fetchall()
    return NetworkEvaluation(
        layers=tuple(_layer_result(*row) for row in rows),
        vector=tuple(_vector_evaluation(row) for row in vector),
        vector_counted=counted[0][0],
    )


def _vector_evaluation(row: tuple[str | int | float, ...]) -> VectorEvaluation:
    return VectorEvaluation.model_validate(dict(zip(_FIELDS, row, strict=True)))


def _why_no_results(connection: duckdb.DuckDBPyConnection, run: UUID) -> str:
    found = [record for record in read_runs(connection) if record.id == run]
    if not found:
        return "not in this store; expected the id of one of its runs"
    return f"found no results, it is {found[0].status}; expected a run that is done"


def _layer_result(
    cme: str,
    evaluations: int,
    infeasible: list[_InfeasibleRow],
    pruned: int,
    repeats: str | None,
) -> LayerResult:
    failed = tuple(Infeasibility(reason=x["reason"], count=x["count"]) for x in infeasible)
    return LayerResult(
        cme=CostModelEvaluation.model_validate_json(cme),
        statistics=SearchStatistics(evaluations=evaluations, infeasible=failed, pruned=pruned),
        repeats=repeats,
    )


def read_evaluations(
    connection: duckdb.DuckDBPyConnection, run: UUID, layer: str
) -> tuple[EvaluationBatch, ...]:
    """The evaluations of a layer in a run: a batch for each search, as recorded.

    A search is one spatial mapping with one set of loop factors.

    The statistics of a batch count its rows and what failed, the most frequent reason first.

    Raises:
        StoreError: if there is no such run, or its workload has no such layer.
    """
    found: list[tuple[str]] = connection.execute(_WORKLOAD, [run]).fetchall()
    if not found:
        raise StoreError(f"run {run}: {_why_no_results(connection, run)}")
    layers = {x.name: x for x in Workload.model_validate_json(found[0][0]).layers}
    if layer not in layers:
        raise StoreError(
            f"run {run}: found no layer {layer!r}; expected one of {', '.join(layers)}"
        )
    searches: list[_SearchRow] = connection.execute(_SEARCHES, [run, layer]).fetchall()
    return tuple(_batch(connection, search, layers[layer]) for search in searches)


def _batch(
    connection: duckdb.DuckDBPyConnection, search: _SearchRow, layer: Layer
) -> EvaluationBatch:
    number, machine, mapping, constraints, factors, ideal_cycles = search
    problem = SpatialProblem(
        problem=MappingProblem(
            layer=layer,
            accelerator=Accelerator.model_validate_json(machine),
            constraints=LayerConstraints.model_validate_json(constraints),
        ),
        spatial_mapping=SpatialMapping.model_validate_json(mapping),
    )
    rows = query(connection, _ROWS, [number])
    failed: list[tuple[str, int]] = connection.execute(_INFEASIBLE, [number]).fetchall()
    statistics = SearchStatistics(
        evaluations=rows.num_rows,
        infeasible=tuple(Infeasibility(reason=reason, count=count) for reason, count in failed),
    )
    loops = tuple(Loop(dimension=x["dimension"], size=x["size"]) for x in factors)
    return from_arrow(rows, problem, loops, ideal_cycles, statistics)
