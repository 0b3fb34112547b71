"""The check of a store: its rows are consistent, and its models match their keys."""

import re
from collections.abc import Iterator, Mapping, Sequence
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
from nestmap.store.read.results import read_evaluation
from nestmap.store.rows.memory_costs import check_memory_costs
from nestmap.store.schema.migrate import SCHEMA, check_schema, check_tables, migrate, schema_version
from nestmap.store.schema.tables import (
    EVALUATION_ROWS,
    SMALL_TABLES,
    VERSION_TABLE,
    Reference,
    references,
)

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


# --- integrity rules of a store, as SQL queries that return one sentence per violation ---

# --- integrity rules of multi-core runs, as SQL queries that return one sentence per violation ---

MULTICORE_RULES: Final = (
    """
    SELECT 'run ' || id || ': it explores ' || if(kind = 'stream', 'several cores', 'one core')
      || ' and its accelerator has ' || cores
    FROM runs JOIN accelerators ON hash = accelerator
    WHERE (kind = 'stream') <> (cores > 1) ORDER BY started, id
    """,
    """
    SELECT 'run ' || run || ': found generations ' || min(number) || ' to ' || max(number)
      || ', ' || count(*) || ' of them; expected all from 0 on'
    FROM generations GROUP BY run HAVING min(number) <> 0 OR max(number) <> count(*) - 1
    ORDER BY run
    """,
    """
    SELECT 'run ' || generations.run || ': generation ' || number || ' has a front of ' || front
      || '; found ' || count(position)
    FROM generations LEFT JOIN individuals
      ON individuals.run = generations.run AND generation = number AND role = 'front'
    GROUP BY generations.run, number, front HAVING count(position) <> front ORDER BY ALL
    """,
    """
    SELECT DISTINCT 'run ' || individuals.run || ': found an allocation of ' || len(allocation)
      || ' node groups; expected ' || genes
    FROM individuals JOIN streams ON streams.run = individuals.run
    WHERE len(allocation) <> genes ORDER BY ALL
    """,
    """
    SELECT 'run ' || schedules.run || ': found a schedule of ' || count(node) || ' nodes; expected '
      || nodes
    FROM schedules JOIN streams ON streams.run = schedules.run
    LEFT JOIN schedule_nodes ON schedule_nodes.run = schedules.run
    GROUP BY schedules.run, nodes HAVING count(node) <> nodes ORDER BY ALL
    """,
    """
    SELECT 'run ' || schedules.run || ': its schedule ends at ' || latency
      || ' and nodes end at ' || max(ends)
    FROM schedules JOIN schedule_nodes ON schedule_nodes.run = schedules.run
    GROUP BY schedules.run, latency HAVING max(ends) > latency ORDER BY ALL
    """,
    """
    SELECT 'run ' || schedules.run || ': the duration of node ' || node || ' is not its runtime'
    FROM schedules
    JOIN schedule_nodes AS placed ON placed.run = schedules.run
    JOIN stream_costs AS cost
      ON cost.run = placed.run AND cost.kind = placed.kind AND cost.core = placed.core
    WHERE cost.runtime IS DISTINCT FROM placed.ends - placed.begins ORDER BY ALL
    """,
)
"""SQL queries, each of which returns one sentence per violation."""


# --- integrity rules of a store, as SQL queries that return one sentence per violation ---

MOST_LISTED = 20
"""The number of problems of one kind that are listed; the others are only counted."""

_ORPHANS = """
SELECT 'table {table}: ' || count(*) || ' rows with a {column} that is not in {owner}.{key}, '
  || 'such as ' || min({column})
FROM {table} ANTI JOIN {owner} AS owner ON owner.{key} = {table}.{column}
WHERE {column} IS NOT NULL HAVING count(*) > 0
"""
_COUNTS = """
CREATE OR REPLACE TEMP TABLE counts AS
SELECT search, count(*) AS rows, count(DISTINCT number) AS numbers, min(number) AS lowest,
       max(number) AS highest, min(energy) AS energy, min(latency2) AS latency
FROM evaluation_rows GROUP BY search
"""
_RULES = (
    # the schema
    f"""
    SELECT 'schema: version ' || version || ' is not known'
    FROM {VERSION_TABLE} WHERE version <> {SCHEMA} ORDER BY version
    """,
    # evaluations of a search
    """
    SELECT 'search ' || search || ': ' || (rows - numbers) || ' evaluations have a duplicate '
      || 'number'
    FROM counts WHERE rows > numbers ORDER BY search
    """,
    """
    SELECT 'search ' || id || ': found ' || coalesce(rows, 0) || ' evaluations, numbers '
      || coalesce(lowest || ' to ' || highest, 'none') || '; expected all ' || evaluations
    FROM searches LEFT JOIN counts ON search = id
    WHERE record = 'all' AND evaluations IS NOT NULL AND (
      coalesce(numbers, 0) <> evaluations OR lowest <> 0 OR highest <> evaluations - 1
    ) ORDER BY id
    """,
    """
    SELECT 'search ' || id || ': found evaluation ' || if(lowest < 0, lowest, highest)
      || '; expected numbers below ' || evaluations
    FROM searches JOIN counts ON search = id
    WHERE record = 'best' AND (lowest < 0 OR highest >= evaluations) ORDER BY id
    """,
    """
    SELECT 'search ' || id || ': found ' || rows || ' evaluations; expected none, it records none'
    FROM searches JOIN counts ON search = id WHERE record = 'none' ORDER BY id
    """,
    """
    SELECT 'search ' || search || ': ' || count(*) || ' evaluations have codes that do not fit it, '
      || 'such as number ' || min(number)
    FROM (
      SELECT
        search, number, factors, operands[-1].last AS count,
        spelled_ordering(range(len(factors)), ordering, code_bits) AS loops,
        unpacked(cuts, code_bits) AS positions
      FROM evaluation_rows JOIN searches ON id = search
    )
    WHERE list_count(loops) < len(loops) OR len(positions) < count
      OR list_max(positions[1 : count]) > len(loops)
    GROUP BY search ORDER BY search
    """,
    """
    SELECT 'search ' || search || ': ' || count(*) || ' evaluations have costs that are negative '
      || 'or not finite, such as number ' || min(number)
    FROM evaluation_rows
    WHERE NOT (isfinite(energy) AND isfinite(latency0) AND isfinite(latency1) AND isfinite(latency2)
      AND least(energy, latency0, latency1, latency2) >= 0)
    GROUP BY search ORDER BY search
    """,
    # fronts
    """
    SELECT 'search ' || id || ': ' || if(len(front) = 0, 'no evaluation', 'an evaluation')
      || ' in its front, of ' || evaluations
    FROM searches WHERE front IS NOT NULL AND (len(front) = 0) <> (evaluations = 0) ORDER BY id
    """,
    """
    SELECT 'search ' || found.id || ': ' || count(*) || ' evaluations of its front are not '
      || 'recorded with these costs, such as number ' || min(best.number)
    FROM (SELECT id, unnest(front) AS best FROM searches WHERE record <> 'none') AS found
    ANTI JOIN evaluation_rows AS evaluated
      ON evaluated.search = found.id AND evaluated.number = found.best.number
      AND evaluated.energy = found.best.energy AND evaluated.latency2 = found.best.latency2
    GROUP BY found.id ORDER BY found.id
    """,
    """
    SELECT 'search ' || id || ': an evaluation is better than all of its front'
    FROM searches JOIN counts ON search = id
    WHERE front IS NOT NULL AND (
      counts.energy < list_min([x.energy FOR x IN front])
      OR counts.latency < list_min([x.latency2 FOR x IN front])
    ) ORDER BY id
    """,
    """
    SELECT 'search ' || id || ': it has a front and is not complete' FROM searches
    WHERE evaluations IS NULL AND front IS NOT NULL ORDER BY id
    """,
    # lower bounds: they and the costs are sums of rounded numbers
    """
    SELECT 'search ' || id || ': an evaluation costs less than a lower bound' FROM searches
    WHERE list_min([x.energy FOR x IN front]) < energy_bound * (1 - 1e-9)
      OR list_min([x.latency2 FOR x IN front]) < latency_bound * (1 - 1e-9)
      OR list_min([x.energy * x.latency2 FOR x IN front]) < edp_bound * (1 - 1e-9)
    ORDER BY id
    """,
    """
    SELECT 'run ' || run || ': layer ' || layer || ' costs less than its lower bound'
    FROM results JOIN cmes ON hash = cme JOIN runs ON runs.id = run
    WHERE objective_of(runs.objective, cmes.energy, cmes.latency2) < bound * (1 - 1e-9)
    ORDER BY ALL
    """,
    """
    SELECT 'run ' || run || ': layer ' || layer || ' has ' || if(gap IS NULL, 'no gap', 'a gap')
      || if(bound IS NULL, ' and no', ' and a') || ' lower bound'
    FROM results WHERE (gap IS NULL) <> (bound IS NULL) ORDER BY ALL
    """,
    # runs
    """
    SELECT 'run ' || id || ': it is done and has no results' FROM runs
    WHERE status = 'done' AND id NOT IN (
      SELECT run FROM results UNION ALL SELECT run FROM schedules
    ) ORDER BY started, id
    """,
    """
    SELECT 'run ' || id || ': it is ' || status || ' and has results' FROM runs
    WHERE status <> 'done' AND id IN (
      SELECT run FROM results UNION ALL SELECT run FROM schedules
    ) ORDER BY started, id
    """,
    """
    SELECT DISTINCT 'run ' || id || ': its workload has no layer ' || layer
    FROM (SELECT run, layer FROM results UNION SELECT run, layer FROM run_searches) AS linked
    JOIN runs ON id = run
    WHERE (workload, layer) NOT IN (SELECT (workload, name) FROM workload_layers) ORDER BY ALL
    """,
    """
    SELECT 'run ' || run || ': it is done and search ' || search || ' is not complete'
    FROM run_searches JOIN searches ON searches.id = search JOIN runs ON runs.id = run
    WHERE status = 'done' AND searches.evaluations IS NULL ORDER BY ALL
    """,
    # sweeps
    """
    SELECT 'sweep ' || hash || ': found ' || count(position) || ' rows, positions '
      || coalesce(min(position) || ' to ' || max(position), 'none') || '; expected all ' || expected
    FROM (SELECT hash, designs * len(mapped_for) AS expected FROM sweeps)
    LEFT JOIN sweep_designs ON sweep = hash GROUP BY hash, expected
    HAVING count(DISTINCT position) <> expected OR count(position) <> expected
      OR min(position) <> 0 OR max(position) <> expected - 1
    ORDER BY hash
    """,
    """
    SELECT 'sweep ' || found.hash || ': the design at position ' || min(found.position)
      || ' of its front ' || if(any_value(design.position) IS NULL, 'is missing', 'is infeasible')
    FROM (SELECT hash, unnest(front) AS position FROM sweeps) AS found
    LEFT JOIN sweep_designs AS design
      ON design.sweep = found.hash AND design.position = found.position
    WHERE design.position IS NULL OR design.reason IS NOT NULL
    GROUP BY found.hash ORDER BY found.hash
    """,
    """
    SELECT 'sweep ' || hash || ': the design at position ' || min(position) || ' has '
      || any_value(coalesce(len(objective_values), 0)) || ' values of objectives; expected '
      || any_value(if(reason IS NULL, len(objectives), 0))
    FROM sweeps JOIN sweep_designs ON sweep = hash
    WHERE coalesce(len(objective_values), 0) <> if(reason IS NULL, len(objectives), 0)
    GROUP BY hash ORDER BY hash
    """,
    """
    SELECT DISTINCT 'sweep ' || hash || ': a design is better than all of its front'
    FROM (
      SELECT hash, min(value) AS least, min(value) FILTER (is_best) AS front_least
      FROM (
        SELECT hash, list_contains(front, position) AS is_best, unnest(objective_values) AS value,
          generate_subscripts(objective_values, 1) AS place
        FROM sweeps JOIN sweep_designs ON sweep = hash
      )
      GROUP BY hash, place
    )
    WHERE front_least IS DISTINCT FROM least
    ORDER BY ALL
    """,
    *MULTICORE_RULES,
)


def broken_rules(connection: duckdb.DuckDBPyConnection, rows: Mapping[str, int]) -> Iterator[str]:
    """One sentence per violated rule; ``rows`` is how many each of nestmap's tables has."""
    referring = [x for x in references(connection) if rows.get(x.table) != 0]
    yield from _orphans(connection, referring)
    connection.execute(_COUNTS)
    for rule in _RULES:
        yield from _violations(connection, rule)


def _orphans(connection: duckdb.DuckDBPyConnection, found: Sequence[Reference]) -> Iterator[str]:
    """A sentence per violated reference; asked together, they take half of the time."""
    if found:
        asked = (f"({_ORPHANS.format(**x._asdict())})" for x in found)
        yield from (text for (text,) in connection.execute(" UNION ALL ".join(asked)).fetchall())


def _violations(connection: duckdb.DuckDBPyConnection, sql: str) -> Iterator[str]:
    rows: list[tuple[str]] = connection.execute(sql).fetchall()
    yield from (text for (text,) in rows[:MOST_LISTED])
    if len(rows) > MOST_LISTED:
        yield f"and {len(rows) - MOST_LISTED} more of this kind"
