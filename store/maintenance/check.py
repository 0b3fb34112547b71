"""The check of a store: its rows are consistent, and its models match their keys."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import closing
from functools import lru_cache
from pathlib import Path
from typing import Final, NamedTuple

import duckdb
from pydantic import ValidationError

from nestmap.model import (
    Accelerator,
    CostModelEvaluation,
    Frozen,
    Layer,
    NestmapError,
    SpatialMapping,
    Workload,
)
from nestmap.model.multicore.accelerator import MultiCoreAccelerator
from nestmap.store.connection.connect import connect, connect_read_only, query_number
from nestmap.store.connection.database import PATIENCE, open_with_retry
from nestmap.store.connection.errors import wrap_errors
from nestmap.store.maintenance.integrity import broken_rules
from nestmap.store.read.results import read_evaluation
from nestmap.store.rows.memory_costs import check_memory_costs
from nestmap.store.schema.migrate import check_schema, check_tables, migrate, schema_version
from nestmap.store.schema.tables import EVALUATION_ROWS, SMALL_TABLES

# --- the views and macros of a store, compared with those that nestmap creates ---

# by their full names: macros of the file may have the short ones
_DEFINITIONS: Final = """
SELECT 'view ' || view_name, sql FROM system.main.duckdb_views()
WHERE database_name = current_database() AND NOT internal
UNION ALL
SELECT 'macro ' || function_name, macro_definition || parameters::VARCHAR
FROM system.main.duckdb_functions()
WHERE database_name = current_database() AND NOT internal
"""
_WORD: Final = re.compile(r"\w+|\S")


def changed_definitions(connection: duckdb.DuckDBPyConnection) -> Iterator[str]:
    """One sentence per view or macro that is missing or differs; others may be a user's own."""
    found = _definitions(connection)
    for name, words in sorted(_expected_definitions().items()):
        if name not in found:
            yield f"schema: there is no {name}"
        elif found[name] != words:
            yield f"schema: {name} is not the one that nestmap creates"


@lru_cache(maxsize=1)
def _expected_definitions() -> dict[str, list[str]]:
    with closing(connect(None)) as current:
        migrate(current, "in memory")
        return _definitions(current)


def _definitions(connection: duckdb.DuckDBPyConnection) -> dict[str, list[str]]:
    """The words of each definition, sorted: DuckDB writes the columns of REPLACE in any order."""
    words: dict[str, list[str]] = {}
    rows: list[tuple[str, str]] = connection.execute(_DEFINITIONS).fetchall()
    for name, definition in rows:
        words.setdefault(name, []).extend(_WORD.findall(definition))
    return {name: sorted(found) for name, found in words.items()}


# --- the check of a store: its rows are consistent, and its models match their keys ---


class CheckReport(Frozen, frozen=True):
    """The content of a store, and one sentence per problem found.

    ``incomplete_searches`` and ``unfinished_runs`` are not problems: running and interrupted runs
    have them. ``recomputable`` is the number of evaluations recorded with the current cost model
    version; ``recomputed`` of them were compared with the cost model.
    """

    schema_version: int
    tables: tuple[tuple[str, int], ...]
    problems: tuple[str, ...]
    incomplete_searches: int
    unfinished_runs: int
    recomputable: int
    recomputed: int

    @property
    def is_sound(self) -> bool:
        """Whether there are no problems."""
        return not self.problems


class _EvaluationRow(NamedTuple):
    """The costs of a recorded evaluation."""

    search: int
    number: int
    energy: float
    latency0: float
    latency1: float
    latency2: float


class _CmeRow(NamedTuple):
    """A row of ``cmes``, and the number of rows of its parts."""

    hash: str
    json: str
    energy: float
    latency2: float
    levels: int
    ports: int
    parts: int
    leaks: int


_MODELS: tuple[tuple[str, type[Frozen]], ...] = (
    ("workloads", Workload),
    ("layers", Layer),
    ("accelerators WHERE cores = 1", Accelerator),
    ("accelerators WHERE cores > 1", MultiCoreAccelerator),
    ("spatial_mappings", SpatialMapping),
)
_CMES = """
SELECT hash, json, energy, latency2,
  (SELECT count(*) FROM level_usage WHERE cme = hash),
  (SELECT count(*) FROM port_stalls WHERE cme = hash),
  (SELECT count(*) FROM array_energies WHERE cme = hash),
  (SELECT count(*) FROM static_energies WHERE cme = hash)
FROM cmes ORDER BY hash
"""
_CHECKED = (
    *("energy", "latency2", "rows in level_usage", "rows in port_stalls"),
    *("rows in array_energies", "rows in static_energies"),
)
# All runs of a search have the same version of the cost model, because its key includes it.
_CURRENT_VERSION = """
FROM evaluation_rows WHERE search IN (
  SELECT search FROM run_searches JOIN runs ON runs.id = run
  WHERE TRY_CAST(versions->>'cost_model' AS INTEGER) = $version
)
"""
_EVEN_SAMPLE = f"""
SELECT * EXCLUDE (place) FROM (
  SELECT search, number, energy, latency0, latency1, latency2,
    row_number() OVER () - 1 AS place
  {_CURRENT_VERSION}
) WHERE place % $step = 0 LIMIT $most
"""


def check_store(path: Path, recompute: int = 100) -> CheckReport:
    """Checks a store without changing it.

    ``recompute`` evaluations, evenly spread over all, are evaluated again and compared exactly.

    Raises:
        StoreError: if it cannot be read, or does not have the current schema.
    """
    opened = open_with_retry(lambda: connect_read_only(path), PATIENCE)
    with closing(opened) as connection, wrap_errors(str(path)):
        check_schema(connection, str(path))
        check_tables(connection, str(path))
        return _report(connection, str(path), recompute)


def _report(connection: duckdb.DuckDBPyConnection, store: str, recompute: int) -> CheckReport:
    rows = _count_rows(connection)
    problems = [*changed_definitions(connection), *broken_rules(connection, rows)]
    problems += _wrong_models(connection)
    problems += _wrong_cmes(connection)
    problems += check_memory_costs(connection)
    recomputable = _recomputable(connection)
    sample = _sample(connection, recomputable, recompute)
    problems += _wrong_costs(connection, sample)
    return CheckReport(
        schema_version=schema_version(connection, store),
        tables=tuple(rows.items()),
        problems=tuple(problems),
        incomplete_searches=query_number(
            connection, "SELECT count(*) FROM searches WHERE evaluations IS NULL"
        ),
        unfinished_runs=query_number(
            connection, "SELECT count(*) FROM runs WHERE status <> 'done'"
        ),
        recomputable=recomputable,
        recomputed=len(sample),
    )


def _count_rows(connection: duckdb.DuckDBPyConnection) -> dict[str, int]:
    tables = (*SMALL_TABLES, EVALUATION_ROWS)
    counts = " UNION ALL ".join(f"SELECT '{x}', count(*) FROM {x}" for x in tables)
    rows: list[tuple[str, int]] = connection.execute(counts).fetchall()
    found = dict(rows)  # in any order
    return {x: found[x] for x in tables}


def _wrong_models(connection: duckdb.DuckDBPyConnection) -> Iterator[str]:
    for source, kind in _MODELS:
        table = source.partition(" ")[0]
        rows: list[tuple[str, str]]
        rows = connection.execute(f"SELECT hash, json FROM {source} ORDER BY hash").fetchall()
        for key, json in rows:
            try:
                model = kind.model_validate_json(json)
            except ValidationError as error:
                yield f"{table} {key}: no valid {kind.__name__}: {_first_error(error)}"
                continue
            if model.content_hash != key:
                yield f"{table} {key}: its content has the hash {model.content_hash}"
            yield from _missing_parts(connection, table, key, model)


def _missing_parts(
    connection: duckdb.DuckDBPyConnection, table: str, key: str, model: Frozen
) -> Iterator[str]:
    match model:
        case Workload():
            parts, owner, expected = "workload_layers", "workload", len(model.layers)
        case Accelerator():
            parts, owner, expected = "memories", "accelerator", len(model.memories)
        case MultiCoreAccelerator():
            parts, owner, expected = "cores", "accelerator", len(model.cores)
        case _:
            return
    sql = f"SELECT count(*) FROM {parts} WHERE {owner} = ?"
    found: list[tuple[int]] = connection.execute(sql, [key]).fetchall()
    if found != [(expected,)]:
        yield f"{table} {key}: found {found[0][0]} rows in {parts}; expected {expected}"


def _wrong_cmes(connection: duckdb.DuckDBPyConnection) -> Iterator[str]:
    for row in map(_CmeRow._make, connection.execute(_CMES).fetchall()):
        try:
            cme = CostModelEvaluation.model_validate_json(row.json)
        except ValidationError as error:
            yield f"cmes {row.hash}: no valid CostModelEvaluation: {_first_error(error)}"
            continue
        said = row[2:]
        meant = (
            *(cme.energy, cme.latency2, len(cme.levels), len(cme.port_stalls)),
            *(len(cme.array_energies), len(cme.static_energies)),
        )
        for name, found, expected in zip(_CHECKED, said, meant, strict=True):
            if found != expected:
                yield f"cmes {row.hash}: {name}: found {found}; expected {expected} as in its json"


def _first_error(error: ValidationError) -> str:
    first = error.errors(include_url=False, include_input=False)[0]
    place = ".".join(map(str, first["loc"]))
    return f"{place}: {first['msg']}" if place else first["msg"]


def _recomputable(connection: duckdb.DuckDBPyConnection) -> int:
    rows: list[tuple[int]]
    rows = connection.execute(
        f"SELECT count(*) {_CURRENT_VERSION}", {"version": _version()}
    ).fetchall()
    return rows[0][0]


def _sample(connection: duckdb.DuckDBPyConnection, rows: int, most: int) -> list[_EvaluationRow]:
    if not (rows and most):
        return []
    chosen = {"version": _version(), "step": max(-(-rows // most), 1), "most": most}
    return [
        _EvaluationRow._make(row) for row in connection.execute(_EVEN_SAMPLE, chosen).fetchall()
    ]


def _version() -> int:
    from nestmap.costmodel.version import VERSION  # noqa: PLC0415 (slow import)

    return VERSION


def _wrong_costs(
    connection: duckdb.DuckDBPyConnection, sample: list[_EvaluationRow]
) -> Iterator[str]:
    for row in sample:
        name = f"{row.search}:{row.number}"
        try:
            cme = read_evaluation(connection, name)
        except (NestmapError, LookupError, ValueError) as error:
            yield f"evaluation {name}: cannot be recomputed: {error}"
            continue
        costs = (cme.energy, cme.latency0, cme.latency1, cme.latency2)
        for cost, found, expected in zip(row._fields[2:], row[2:], costs, strict=True):
            if found != expected:
                yield f"evaluation {name}: {cost}: found {found}; recomputed it is {expected}"
