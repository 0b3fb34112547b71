"""Integrity rules of multi-core runs, as SQL queries that return one sentence per violation."""

from __future__ import annotations

from typing import Final

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
