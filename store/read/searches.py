"""Searches read back: their problems, fronts and recorded evaluations."""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple, TypedDict
from uuid import UUID

import duckdb
import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pydantic import TypeAdapter

from nestmap.model import (
    Accelerator,
    EvaluationBatch,
    Infeasibility,
    Layer,
    LayerConstraints,
    Loop,
    MappingProblem,
    Reserved,
    SearchStatistics,
    SpatialMapping,
    SpatialProblem,
    Workload,
)
from nestmap.model.base import copy_with
from nestmap.store.rows.content import BOUND_COLUMNS, BoundsRow
from nestmap.store.rows.evaluations import MappingCoding, floats, from_arrow

# --- models from the JSON of the store; a text that is read again and again is parsed once ---


@lru_cache(maxsize=16)
def parsed_accelerator(json: str) -> Accelerator:
    """The accelerator; the searches of a run have the same one."""
    return Accelerator.model_validate_json(json)


@lru_cache(maxsize=4)
def parsed_workload(json: str) -> Workload:
    """The workload; reports read it once for each layer."""
    return Workload.model_validate_json(json)


_Reserved = TypeAdapter(tuple[Reserved, ...])


class LoopRow(TypedDict):
    """A loop as a struct."""

    dimension: str
    size: int


class SearchRow(NamedTuple):
    """A search in the store.

    ``evaluations`` is ``None`` while it is not complete. It has no front and no bounds while it is
    not complete, nor if an older nestmap recorded it.
    """

    id: int
    layer: str
    factors: list[LoopRow]
    code_bits: int
    ideal_cycles: int
    evaluations: int | None
    has_front: bool
    bounds: BoundsRow


class SearchCosts(NamedTuple):
    """The recorded mappings of a search: their problem, energies (pJ) and latencies (cycles)."""

    problem: SpatialProblem
    energy: npt.NDArray[np.float64]
    latency: npt.NDArray[np.float64]


_Columns = tuple[
    int, str, list[LoopRow], int, int, int | None, bool,
    tuple[float | None, float | None, float | None, int, int, int],
]  # fmt: skip
_COLUMNS = f"factors, code_bits, ideal_cycles, evaluations, front IS NOT NULL, row({BOUND_COLUMNS})"
_BY_ID = f"SELECT id, layer, {_COLUMNS} FROM searches WHERE id = ?"
_OF_RUN = (
    f"SELECT search.id, linked.layer, {_COLUMNS} "
    "FROM run_searches AS linked JOIN searches AS search ON search.id = linked.search "
    "WHERE linked.run = ? AND linked.layer = ? ORDER BY linked.position"
)
_PROBLEMS = """
SELECT search.id, layer.json, accelerator.json, mapping.json, constraints, reserved
FROM searches AS search
JOIN layers AS layer ON layer.hash = search.content
JOIN accelerators AS accelerator ON accelerator.hash = search.accelerator
JOIN spatial_mappings AS mapping ON mapping.hash = search.spatial_mapping
WHERE search.id IN (SELECT unnest(?))
"""
_FRONT = "SELECT found.* FROM (SELECT unnest(front) AS found FROM searches WHERE id = ?)"
_ROWS = """
SELECT number, ordering, cuts, energy, latency0, latency1, latency2
FROM evaluation_rows WHERE search = ? ORDER BY number
"""
_COSTS = """
SELECT search, energy, latency2 FROM evaluation_rows
WHERE search IN (SELECT unnest($searches)) ORDER BY search, number
"""
_ROW = """
SELECT number, ordering, cuts, energy, latency0, latency1, latency2
FROM evaluation_rows WHERE search = $search AND number = $number
UNION ALL
SELECT found.* FROM (SELECT unnest(front) AS found FROM searches WHERE id = $search)
WHERE found.number = $number
LIMIT 1
"""
_FAILED = "SELECT reason, count FROM infeasible WHERE search = ? ORDER BY position"


def find_search(connection: duckdb.DuckDBPyConnection, number: int) -> SearchRow | None:
    """The search with that id, complete or not; ``None`` if there is none."""
    found: list[_Columns] = connection.execute(_BY_ID, [number]).fetchall()
    return _search_row(found[0]) if found else None


def searches_of(connection: duckdb.DuckDBPyConnection, run: UUID, layer: str) -> list[SearchRow]:
    """The searches of a layer in a run, in order, with the name that the layer has there."""
    found: list[_Columns] = connection.execute(_OF_RUN, [run, layer]).fetchall()
    return [_search_row(row) for row in found]


def _search_row(row: _Columns) -> SearchRow:
    return SearchRow(*row[:-1], BoundsRow(*row[-1]))


def read_problem(connection: duckdb.DuckDBPyConnection, search: SearchRow) -> SpatialProblem:
    """The problem of a search, with the layer name given in ``search``."""
    return read_problems(connection, [search])[0]


def read_problems(
    connection: duckdb.DuckDBPyConnection, searches: Sequence[SearchRow]
) -> list[SpatialProblem]:
    """The problems of searches, in one query, with the layer names given in ``searches``."""
    rows: list[tuple[int, str, str, str, str, str]]
    rows = connection.execute(_PROBLEMS, [[search.id for search in searches]]).fetchall()
    found = {number: texts for number, *texts in rows}
    return [_problem(search.layer, *found[search.id]) for search in searches]


def _problem(
    name: str, layer: str, accelerator: str, mapping: str, constraints: str, reserved: str
) -> SpatialProblem:
    return SpatialProblem(
        problem=MappingProblem(
            layer=copy_with(Layer.model_validate_json(layer), {"name": name}),
            accelerator=parsed_accelerator(accelerator),
            constraints=LayerConstraints.model_validate_json(constraints),
            reserved=_Reserved.validate_json(reserved),
        ),
        spatial_mapping=SpatialMapping.model_validate_json(mapping),
    )


def read_front(
    connection: duckdb.DuckDBPyConnection, search: SearchRow, spatial: SpatialProblem
) -> tuple[EvaluationBatch, ...]:
    """The Pareto-optimal evaluations of a complete search, with its statistics."""
    table = connection.sql(_FRONT, params=[search.id]).to_arrow_table()
    return _batches(connection, search, spatial, table)


def read_rows(
    connection: duckdb.DuckDBPyConnection, search: SearchRow, spatial: SpatialProblem
) -> tuple[EvaluationBatch, ...]:
    """The recorded evaluations of a search, with its statistics as far as they are recorded."""
    table = connection.sql(_ROWS, params=[search.id]).to_arrow_table()
    return _batches(connection, search, spatial, table)


def read_costs(
    connection: duckdb.DuckDBPyConnection, searches: Sequence[tuple[SearchRow, SpatialProblem]]
) -> Iterator[SearchCosts]:
    """What the recorded mappings of searches cost: of a million in milliseconds."""
    numbers = [search.id for search, _ in searches]
    table = connection.sql(_COSTS, params={"searches": numbers}).to_arrow_table()
    energy, latency = floats(table, "energy"), floats(table, "latency2")
    searched = table.column("search").to_numpy()
    for search, spatial in searches:
        begin, end = np.searchsorted(searched, [search.id, search.id + 1])
        yield SearchCosts(spatial, energy[begin:end], latency[begin:end])


def read_row(
    connection: duckdb.DuckDBPyConnection, search: SearchRow, spatial: SpatialProblem, number: int
) -> EvaluationBatch:
    """One recorded evaluation; a batch without rows if there is none with that number."""
    table = connection.sql(_ROW, params={"search": search.id, "number": number}).to_arrow_table()
    return _batches(connection, search, spatial, table)[0]


def _batches(
    connection: duckdb.DuckDBPyConnection,
    search: SearchRow,
    spatial: SpatialProblem,
    table: pa.Table,
) -> tuple[EvaluationBatch, ...]:
    failed: list[tuple[str, int]] = connection.execute(_FAILED, [search.id]).fetchall()
    return build_batches(search, spatial, table, failed)


def build_batches(
    search: SearchRow, spatial: SpatialProblem, table: pa.Table, failed: list[tuple[str, int]]
) -> tuple[EvaluationBatch, ...]:
    """Rows of a search as batches; ``failed`` has the number of rejected candidates per reason."""
    statistics = SearchStatistics(
        evaluations=table.num_rows if search.evaluations is None else search.evaluations,
        infeasible=tuple(Infeasibility(reason=reason, count=count) for reason, count in failed),
        bounds=search.bounds.bounds,
        unproven=search.bounds.unproven,
        cut=search.bounds.cut,
        labels=search.bounds.labels,
    )
    loops = tuple(Loop(dimension=x["dimension"], size=x["size"]) for x in search.factors)
    coding = MappingCoding(loops, search.code_bits)
    return from_arrow(table, spatial, coding, search.ideal_cycles, statistics)
