"""Reading results: SQL queries, and the results, fronts and evaluations of a run as models."""

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import NamedTuple, TypedDict
from uuid import UUID

import duckdb
import numpy as np

from nestmap.model import (
    CostModelEvaluation,
    EvaluationBatch,
    Frozen,
    Infeasibility,
    InfeasibleLayer,
    Layer,
    LayerFront,
    LayerResult,
    NetworkEvaluation,
    NetworkFront,
    Objective,
    ObjectiveBound,
    OnChip,
    SearchStatistics,
    SpatialProblem,
    StoreError,
    TemporalMapping,
    VectorEvaluation,
    Workload,
    front_rows,
)
from nestmap.model.base import copy_with
from nestmap.model.multicore.allocation import Allocation, Generation, Individual, StreamBound
from nestmap.store.read.searches import (
    SearchCosts,
    SearchRow,
    find_search,
    parsed_workload,
    read_costs,
    read_front,
    read_problem,
    read_problems,
    read_row,
    read_rows,
    searches_of,
)
from nestmap.store.rows.content import BOUND_COLUMNS, BoundsRow
from nestmap.store.rows.generations import read_bound, read_generation
from nestmap.store.rows.runs import check_single_core, read_run, read_stream_info, unknown_run

# --- the layers of a finished run for which its searches found no mapping ---
# They have no results; their searches say why (``run_searches``, ``infeasible``).

_MISSING = """
SELECT place.name, place.layer
FROM runs AS run JOIN workload_layers AS place ON place.workload = run.workload
WHERE run.id = $run AND place.name NOT IN (SELECT layer FROM results WHERE run = $run)
ORDER BY place.position
"""
_SEARCHES = """
SELECT
  layer.operator,
  accelerator.name,
  coalesce(search.options ->> 'stage', '') <> 'ExactStage'
    AND coalesce(json_array_length(search.constraints, '$.memory_levels'), 0) = 0,
  failed.reason, failed.count
FROM run_searches AS linked
JOIN searches AS search ON search.id = linked.search
JOIN layers AS layer ON layer.hash = search.content
JOIN accelerators AS accelerator ON accelerator.hash = search.accelerator
LEFT JOIN infeasible AS failed ON failed.search = search.id
WHERE linked.run = ? AND linked.layer = ?
ORDER BY linked.position, failed.position
"""


class _SearchedRow(NamedTuple):
    operator: str
    accelerator: str
    greedy: bool
    reason: str | None
    orders: int | None


def read_infeasible(
    connection: duckdb.DuckDBPyConnection, run: UUID
) -> tuple[InfeasibleLayer, ...]:
    """The infeasible layers in order; layers that the run did not search are none of them."""
    missing: list[tuple[str, str]] = connection.execute(_MISSING, {"run": run}).fetchall()
    first: dict[str, InfeasibleLayer] = {}
    found: list[InfeasibleLayer] = []
    for name, content in missing:
        rows: list[tuple[str, str, bool, str | None, int | None]]
        rows = connection.execute(_SEARCHES, [run, name]).fetchall()
        if rows:
            first[content] = _layer(name, [_SearchedRow(*row) for row in rows])
            found.append(first[content])
        elif content in first:
            repeats: dict[str, object] = {"layer": name, "repeats": first[content].layer}
            found.append(copy_with(first[content], repeats))
    return tuple(found)


def _layer(name: str, rows: list[_SearchedRow]) -> InfeasibleLayer:
    failed = SearchStatistics()
    for row in rows:
        if row.reason is not None and row.orders is not None:
            cause = Infeasibility(reason=row.reason, count=row.orders)
            failed += SearchStatistics(infeasible=(cause,))
    return InfeasibleLayer(
        layer=name,
        operator=rows[0].operator,
        accelerator=rows[0].accelerator,
        causes=failed.infeasible,
        greedy=rows[0].greedy,
    )


# --- reading results ---


class _InfeasibleRow(TypedDict):
    reason: str
    count: int


_ResultRow = tuple[
    str, str, int, list[_InfeasibleRow], int, str | None, float | None,
    float | None, float | None, float | None, int, int, int, float | None, str,
]  # fmt: skip

_RESULTS = (
    f"SELECT layer, cme, evaluations, infeasible, pruned, repeats, bound, {BOUND_COLUMNS}, "
    "front_gap, objective FROM results JOIN runs ON runs.id = run WHERE run = ? ORDER BY position"
)
_CMES = "SELECT hash, json FROM cmes WHERE hash IN (SELECT cme FROM results WHERE run = ?)"
_FIELDS = tuple(VectorEvaluation.model_fields)
_VECTOR = f"SELECT {', '.join(_FIELDS)} FROM vector_results WHERE run = ? ORDER BY position"
_TOTAL = "SELECT vector_counted, on_chip FROM runs WHERE id = ?"
_WORKLOAD = """
SELECT workload.json FROM runs AS run
JOIN workloads AS workload ON workload.hash = run.workload
WHERE run.id = ?
"""


def read_results(connection: duckdb.DuckDBPyConnection, run: UUID) -> NetworkEvaluation:
    """The results of a finished run.

    Raises:
        StoreError: if there is no such run, or it has no results.
    """
    rows: list[_ResultRow] = connection.execute(_RESULTS, [run]).fetchall()
    if not rows:
        record = read_run(connection, run)
        check_single_core(record)
        raise StoreError(
            f"run {run}: found no results, it is {record.status}; expected a run that is done"
        )
    texts: list[tuple[str, str]] = connection.execute(_CMES, [run]).fetchall()
    if unknown := {row[5] for row in rows} - {row[0] for row in rows} - {None}:
        raise ValueError(f"a layer repeats {min(unknown, key=str)}, which has no results")
    cmes = {key: CostModelEvaluation.model_validate_json(text) for key, text in texts}
    total: list[tuple[bool, str | None]] = connection.execute(_TOTAL, [run]).fetchall()
    return NetworkEvaluation(
        layers=tuple(_layer_result(row, cmes[row[1]]) for row in rows),
        vector=_vector_evaluations(connection, run),
        vector_counted=total[0][0],
        on_chip=_on_chip(total[0][1]),
        infeasible=read_infeasible(connection, run),
    )


def _on_chip(json: str | None) -> OnChip | None:
    return None if json is None else OnChip.model_validate_json(json)


def _layer_result(row: _ResultRow, cme: CostModelEvaluation) -> LayerResult:
    layer, repeats, bound, objective = row[0], row[5], row[6], Objective(row[14])
    return LayerResult(
        cme=cme if cme.layer == layer else copy_with(cme, {"layer": layer}),
        statistics=_statistics(row),
        repeats=repeats,
        bound=None if bound is None else ObjectiveBound(objective=objective, value=bound),
    )


def _statistics(row: _ResultRow) -> SearchStatistics:
    bounds = BoundsRow(*row[7:13])
    failed = tuple(Infeasibility(reason=x["reason"], count=x["count"]) for x in row[3])
    return SearchStatistics(
        evaluations=row[2],
        infeasible=failed,
        pruned=row[4],
        bounds=bounds.bounds,
        unproven=bounds.unproven,
        cut=bounds.cut,
        labels=bounds.labels,
        front_gap=row[13],
    )


def _vector_evaluations(
    connection: duckdb.DuckDBPyConnection, run: UUID
) -> tuple[VectorEvaluation, ...]:
    rows: list[tuple[str | int | float, ...]] = connection.execute(_VECTOR, [run]).fetchall()
    return tuple(
        VectorEvaluation.model_validate(dict(zip(_FIELDS, row, strict=True))) for row in rows
    )


def read_evaluations(
    connection: duckdb.DuckDBPyConnection, run: UUID, layer: str
) -> tuple[EvaluationBatch, ...]:
    """The recorded evaluations of a layer in a run, in batches, search by search.

    A search covers one spatial mapping. Mappings with different numbers of loops are in separate
    batches; the first batch of a search has the statistics of all.

    Raises:
        StoreError: if there is no such run, or its workload has no such layer.
    """
    searches = _searches(connection, run, layer)
    return tuple(chain.from_iterable(read_rows(connection, *x) for x in searches))


def read_layer_costs(
    connection: duckdb.DuckDBPyConnection, run: UUID, layer: str
) -> tuple[SearchCosts, ...]:
    """What the recorded mappings of a layer in a run cost, search by search.

    Raises:
        StoreError: if there is no such run, or its workload has no such layer.
    """
    return tuple(read_costs(connection, _searches(connection, run, layer)))


def _searches(
    connection: duckdb.DuckDBPyConnection, run: UUID, layer: str
) -> list[tuple[SearchRow, SpatialProblem]]:
    layers = {x.name: x for x in _workload(connection, run).layers}
    if layer not in layers:
        raise StoreError(
            f"run {run}: found no layer {layer!r}; expected one of {', '.join(layers)}"
        )
    searches = searches_of(connection, run, layer)
    problems = read_problems(connection, searches)
    return [
        (search, problem.for_layer(layers[layer]))
        for search, problem in zip(searches, problems, strict=True)
    ]


def read_evaluation(connection: duckdb.DuckDBPyConnection, name: str) -> CostModelEvaluation:
    """One recorded evaluation in full, recomputed by the cost model.

    Raises:
        StoreError: if there is none with that name.
    """
    first, _, second = name.partition(":")
    if not (first.isdecimal() and second.isdecimal()):
        raise StoreError(
            f"evaluation {name!r}: found no numbers of a search and an evaluation; expected an id "
            "as in the view evaluations: 1234:5"
        )
    search = find_search(connection, int(first))
    if search is not None:
        spatial = read_problem(connection, search)
        row = read_row(connection, search, spatial, int(second))
        if len(row):
            return _evaluate(spatial, row.mappings.row(0))
    raise StoreError(f"evaluation {name}: not recorded in this store")


def read_fronts(connection: duckdb.DuckDBPyConnection, run: UUID) -> NetworkFront:
    """The Pareto fronts of all layers of a run in energy and latency.

    Searches that are not complete contribute their recorded evaluations, and only layers searched
    so far are included. Bounds are known once the run is done.

    Raises:
        StoreError: if there is no such run, or it has no evaluations.
    """
    fronts: list[LayerFront] = []
    first: dict[Layer, LayerFront] = {}
    rows: list[_ResultRow] = connection.execute(_RESULTS, [run]).fetchall()
    known = {row[0]: _statistics(row) for row in rows}
    for layer in _workload(connection, run).layers:
        searches = searches_of(connection, run, layer.name)
        batches = _fronts_of(connection, searches, layer)
        if batches:
            first[layer.anonymous] = front = _layer_front(batches, known.get(layer.name))
            fronts.append(front)
        elif layer.anonymous in first:
            fronts.append(_repeat_front(first[layer.anonymous], layer))
    if not fronts:
        check_single_core(read_run(connection, run))
        raise StoreError(
            f"run {run}: found no evaluations; expected a run of this nestmap version: rerun it "
            "with this one"
        )
    total: list[tuple[bool, str | None]] = connection.execute(_TOTAL, [run]).fetchall()
    return NetworkFront(
        layers=tuple(fronts),
        vector=_vector_evaluations(connection, run),
        vector_counted=total[0][0],
        on_chip=_on_chip(total[0][1]),
    )


def _workload(connection: duckdb.DuckDBPyConnection, run: UUID) -> Workload:
    found: list[tuple[str]] = connection.execute(_WORKLOAD, [run]).fetchall()
    if not found:
        raise unknown_run(run)
    return parsed_workload(found[0][0])


def _fronts_of(
    connection: duckdb.DuckDBPyConnection, searches: list[SearchRow], layer: Layer
) -> list[EvaluationBatch]:
    batches: list[EvaluationBatch] = []
    for search in searches:
        spatial = read_problem(connection, search).for_layer(layer)
        known = search.evaluations is not None and search.has_front
        batches += (read_front if known else read_rows)(connection, search, spatial)
    return [batch for batch in batches if len(batch)]


def _layer_front(batches: list[EvaluationBatch], known: SearchStatistics | None) -> LayerFront:
    energy, latency = (
        np.concatenate([getattr(batch, column) for batch in batches])
        for column in ("energy", "latency2")
    )
    places = [(batch, i) for batch in batches for i in range(len(batch))]
    chosen = [places[int(row)] for row in front_rows(energy, latency)]
    statistics = sum((batch.statistics for batch in batches), SearchStatistics())
    mappings = ((batch.mappings.problem, batch.mappings.row(i)) for batch, i in chosen)
    return LayerFront(
        cmes=tuple(_evaluate(*pair) for pair in mappings),
        statistics=known or copy_with(statistics, {"bounds": None}),
    )


def _evaluate(spatial: SpatialProblem, mapping: TemporalMapping) -> CostModelEvaluation:
    from nestmap.costmodel.evaluate import evaluate  # noqa: PLC0415 (few questions need it; it loads long)

    return evaluate(spatial, mapping)


def _repeat_front(front: LayerFront, layer: Layer) -> LayerFront:
    cmes = tuple(_rename(front.cmes, layer.name))
    return LayerFront(cmes=cmes, statistics=front.statistics.without_counts, repeats=front.layer)


def _rename(cmes: Sequence[CostModelEvaluation], layer: str) -> Iterator[CostModelEvaluation]:
    for cme in cmes:
        yield copy_with(cme, {"layer": layer})


# --- multi-core runs read back: the state of their search ---

_REPORTED = "SELECT allocation FROM schedules WHERE run = ?"


class RecordedStream(Frozen, frozen=True):
    """The state of the search of a multi-core run.

    ``generation`` is the newest one; if only the constraint engine ran, it holds the result of that
    engine. ``bound`` is the result of the constraint engine, ``reported`` the allocation whose
    schedule is recorded once the run is done.
    """

    generation: Generation
    bound: StreamBound | None
    reported: Allocation | None

    @property
    def front(self) -> tuple[Individual, ...]:
        """The Pareto-optimal allocations."""
        return self.generation.front


def read_stream(connection: duckdb.DuckDBPyConnection, run: UUID) -> RecordedStream:
    """The state of the search of a multi-core run.

    Raises:
        StoreError: if there is no such run, or it is a single-core run.
    """
    read_stream_info(connection, run)
    bound = read_bound(connection, run)
    reported: list[tuple[list[int]]] = connection.execute(_REPORTED, [run]).fetchall()
    return RecordedStream(
        generation=read_generation(connection, run) or _constraint_generation(bound),
        bound=bound,
        reported=tuple(reported[0][0]) if reported else None,
    )


def _constraint_generation(bound: StreamBound | None) -> Generation:
    best = (bound.best,) if bound and bound.best else ()
    evaluations = bound.evaluations if bound else 0
    return Generation(number=0, population=best, front=best, evaluations=evaluations)
