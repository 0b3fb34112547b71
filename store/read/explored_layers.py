"""Layers that finished runs explored, for reuse: their searches, and the front with the best."""

from typing import NamedTuple, TypedDict, cast

import duckdb
from pydantic import TypeAdapter

from nestmap.model import (
    EvaluationBatch,
    Layer,
    LayerConstraints,
    MappingProblem,
    Recording,
    Reserved,
    SearchStatistics,
    SpatialMapping,
    SpatialProblem,
)
from nestmap.model.base import copy_with
from nestmap.store.read.completed_searches import (
    RECORDED_ENOUGH,
    CompletedSearch,
    CompletedSearchRow,
    front_of,
    search_of,
)
from nestmap.store.read.searches import parsed_accelerator

_Reserved = TypeAdapter(tuple[Reserved, ...])

_KNOWN = f"""
WITH explored AS (SELECT * FROM explored_layers WHERE method = $method),
failed AS (SELECT search, sum(count)::BIGINT AS count FROM infeasible GROUP BY search),
linked AS (
  SELECT explored.run, explored.first, count(*) AS links,
    list(searches.id ORDER BY link.position) AS searches,
    list(searches.key ORDER BY link.position) AS keys,
    list(searches.evaluations + coalesce(failed.count, 0) ORDER BY link.position) AS tries,
    bool_and(evaluations IS NOT NULL AND front IS NOT NULL AND {RECORDED_ENOUGH}) AS is_known
  FROM explored
  JOIN run_searches AS link
    ON link.run = explored.run AND link.position BETWEEN explored.first AND explored.last
  JOIN searches ON searches.id = link.search
  LEFT JOIN failed ON failed.search = searches.id
  GROUP BY explored.run, explored.first
)
SELECT
  explored.problem, explored.statistics, linked.searches, linked.keys, linked.tries,
  best.id, best.layer, best.factors, best.code_bits, best.ideal_cycles, best.evaluations,
  best.front, best.energy_bound, best.latency_bound, best.edp_bound,
  best.unproven, best.cut, best.labels,
  best.content, best.accelerator, best.constraints::VARCHAR AS constraints,
  best.reserved::VARCHAR AS reserved, layer.json::VARCHAR AS layer_json,
  accelerator.json::VARCHAR AS accelerator_json, mapping.json::VARCHAR AS mapping_json
FROM explored
JOIN linked ON linked.run = explored.run AND linked.first = explored.first
JOIN searches AS best ON best.id = explored.search
JOIN layers AS layer ON layer.hash = best.content
JOIN accelerators AS accelerator ON accelerator.hash = best.accelerator
JOIN spatial_mappings AS mapping ON mapping.hash = best.spatial_mapping
WHERE linked.is_known AND linked.links = explored.last - explored.first + 1
QUALIFY row_number() OVER (PARTITION BY explored.problem ORDER BY explored.run) = 1
"""


class _Problem(TypedDict):
    content: str
    accelerator: str
    constraints: str
    reserved: str
    layer_json: str
    accelerator_json: str
    mapping_json: str


class _Row(CompletedSearchRow, _Problem):
    problem: str
    statistics: str
    searches: list[int]
    keys: list[str]
    tries: list[int]


class ExploredLayer(NamedTuple):
    """A layer that a finished run explored.

    ``searches`` has id and key of each search, in order; ``tries`` how many mappings each tried.
    """

    searches: list[tuple[int, str]]
    tries: tuple[int, ...]
    statistics: SearchStatistics
    best: CompletedSearch
    found: _Problem

    def batches(self, problem: MappingProblem) -> tuple[EvaluationBatch, ...]:
        """The Pareto front of the search that found the best mapping, for an equal problem."""
        return self.best.batches(_spatial_problem(self.found, problem))


def read_explored_layers(
    connection: duckdb.DuckDBPyConnection, method: str, recording: Recording
) -> dict[str, ExploredLayer]:
    """The layers explored with a method, by the key of their problems.

    Of each search, at least as much is recorded as ``recording`` would record.
    """
    parameters = {"method": method, "record": recording.record.value, "limit": recording.limit}
    table = connection.sql(_KNOWN, params=parameters).to_arrow_table().combine_chunks()
    rows = cast("list[_Row]", table.drop_columns(["front"]).to_pylist())
    return {
        row["problem"]: ExploredLayer(
            searches=list(zip(row["searches"], row["keys"], strict=True)),
            tries=tuple(row["tries"]),
            statistics=SearchStatistics.model_validate_json(row["statistics"]),
            best=CompletedSearch(search_of(row), [], front_of(table.slice(i, 1))),
            found=row,
        )
        for i, row in enumerate(rows)
    }


def _spatial_problem(found: _Problem, problem: MappingProblem) -> SpatialProblem:
    """The problem of a search of ``problem``; stages may have changed all but the names in it."""
    constraints = LayerConstraints.model_validate_json(found["constraints"])
    changed: dict[str, object] = {
        "constraints": copy_with(constraints, {"target": problem.constraints.target}),
        "reserved": _Reserved.validate_json(found["reserved"]),
    }
    if found["content"] != problem.layer.anonymous.content_hash:
        padding = Layer.model_validate_json(found["layer_json"]).padding
        changed["layer"] = problem.layer.padded({x.dimension: x.padded for x in padding})
    if found["accelerator"] != problem.accelerator.content_hash:
        changed["accelerator"] = parsed_accelerator(found["accelerator_json"])
    return SpatialProblem(
        problem=copy_with(problem, changed),
        spatial_mapping=SpatialMapping.model_validate_json(found["mapping_json"]),
    )
