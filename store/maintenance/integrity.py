"""Integrity rules of a store, as SQL queries that return one sentence per violation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import duckdb

from nestmap.store.schema.migrate import SCHEMA
from nestmap.store.schema.references import Reference, references
from nestmap.store.schema.tables import VERSION_TABLE

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
