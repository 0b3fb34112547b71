"""Completed searches for reuse: their fronts and statistics, read for a whole run at once."""

from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple, TypedDict, cast

import duckdb
import pyarrow as pa

from nestmap.model import EvaluationBatch, Recording, SpatialProblem
from nestmap.store.read.searches import LoopRow, SearchRow, build_batches
from nestmap.store.rows.content import BoundsRow
from nestmap.store.rows.evaluations import ListArray, list_items


class SearchScope(NamedTuple):
    """The searches of the layers of a workload on an accelerator with the same options.

    Padded layers and tiles, which belong to no workload, are included.

    ``workload`` and ``accelerator`` are content hashes, ``options`` the JSON of the search options.
    ``recording``: at least as much must be recorded of a search as this would record.
    """

    workload: str
    accelerator: str
    options: str
    recording: Recording


class CompletedSearch(NamedTuple):
    """A completed search: its Pareto front, and the number of candidates rejected per reason."""

    search: SearchRow
    infeasible: list[tuple[str, int]]
    front: pa.Table

    @property
    def id(self) -> int:
        """The id of the search."""
        return self.search.id

    def batches(self, spatial: SpatialProblem) -> tuple[EvaluationBatch, ...]:
        """The Pareto-optimal evaluations, with the statistics of the whole search."""
        return build_batches(self.search, spatial, self.front, self.infeasible)


class _InfeasibleRow(TypedDict):
    reason: str
    count: int


class CompletedSearchRow(TypedDict):
    """A completed search; its front is read separately, as columns."""

    id: int
    layer: str
    factors: list[LoopRow]
    code_bits: int
    ideal_cycles: int
    evaluations: int
    energy_bound: float | None
    latency_bound: float | None
    edp_bound: float | None
    unproven: int | None
    cut: int
    labels: int


class _Row(CompletedSearchRow):
    key: str
    failed: list[_InfeasibleRow] | None


RECORDED_ENOUGH: Final = """(
  record <= $record::record_mode
  OR $record = 'all' AND record = 'best' AND evaluations > $limit AND id IN (
    SELECT search FROM evaluation_rows GROUP BY search HAVING count(*) >= $limit
  )
)"""
"""Of searches: at least as much is recorded of it as a recording would record."""

_COMPLETE = """
WITH known AS (
  SELECT key, id, layer, factors, code_bits, ideal_cycles, evaluations, front,
    energy_bound, latency_bound, edp_bound, unproven, cut, labels
  FROM searches WHERE evaluations IS NOT NULL AND front IS NOT NULL AND {wanted}
),
counted AS (
  SELECT search, list({{'reason': reason, 'count': count}} ORDER BY position) AS failed
  FROM infeasible WHERE search IN (SELECT id FROM known) GROUP BY search
)
SELECT known.*, failed FROM known LEFT JOIN counted ON search = id ORDER BY id DESC
"""
_SCOPE = f"""
    accelerator = $accelerator AND options::VARCHAR = $options AND cut = 0
    AND {RECORDED_ENOUGH}
    AND (
      content IN (SELECT layer FROM workload_layers WHERE workload = $workload)
      OR content NOT IN (SELECT layer FROM workload_layers)  -- padded layers, tiles
    )
"""
_IN_SCOPE = _COMPLETE.format(wanted=_SCOPE)
_ONE = _COMPLETE.format(wanted="id = $id")


def read_completed_searches(
    connection: duckdb.DuckDBPyConnection, scope: SearchScope
) -> dict[str, CompletedSearch]:
    """All completed searches of a scope by key; of several with the same key, the first."""
    parameters: dict[str, str | int | None] = {
        "workload": scope.workload,
        "accelerator": scope.accelerator,
        "options": scope.options,
        "record": scope.recording.record.value,
        "limit": scope.recording.limit,
    }
    return dict(_read(connection, _IN_SCOPE, parameters))


def read_completed_search(
    connection: duckdb.DuckDBPyConnection, number: int
) -> CompletedSearch | None:
    """The search with that id, if it exists and is complete."""
    return next((search for _, search in _read(connection, _ONE, {"id": number})), None)


def _read(
    connection: duckdb.DuckDBPyConnection, sql: str, parameters: Mapping[str, str | int | None]
) -> Iterator[tuple[str, CompletedSearch]]:
    """Pairs of key and search."""
    table = connection.sql(sql, params=parameters).to_arrow_table().combine_chunks()
    rows = cast("list[_Row]", table.drop_columns(["front"]).to_pylist())
    for i, row in enumerate(rows):
        failed = [(x["reason"], x["count"]) for x in row["failed"] or ()]
        yield row["key"], CompletedSearch(search_of(row), failed, front_of(table.slice(i, 1)))


def search_of(row: CompletedSearchRow) -> SearchRow:
    """The search of a row."""
    return SearchRow(
        id=row["id"],
        layer=row["layer"],
        factors=row["factors"],
        code_bits=row["code_bits"],
        ideal_cycles=row["ideal_cycles"],
        evaluations=row["evaluations"],
        has_front=True,
        bounds=BoundsRow(
            row["energy_bound"],
            row["latency_bound"],
            row["edp_bound"],
            row["unproven"] or 0,
            row["cut"],
            row["labels"],
        ),
    )


def front_of(search: pa.Table) -> pa.Table:
    """The evaluations in the column ``front`` of the only row of a table."""
    fronts = cast("ListArray", search.column("front").combine_chunks())
    return pa.Table.from_struct_array(cast("pa.StructArray", list_items(fronts)))
