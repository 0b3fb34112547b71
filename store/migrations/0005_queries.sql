-- What users ask, as table macros: SELECT * FROM pareto('<id of a run>'). Each comment is the line that
-- `nestmap query --list` shows. Each order is complete, so that the same store gives the same answer.
-- In a macro a name without its table is a parameter, where there is one of that name, also in the
-- views that it uses: there each column is named with its table.

CREATE MACRO objective_of(objective, energy, latency) AS
CASE objective::VARCHAR WHEN 'energy' THEN energy WHEN 'latency' THEN latency ELSE energy * latency END;
COMMENT ON MACRO objective_of IS 'What a run with this objective makes small (pJ, cycles or pJ x cycles)';

CREATE MACRO history() AS TABLE
SELECT
  explored.id AS run, explored.started, explored.status, workload.name AS workload,
  accelerator.name AS accelerator, explored.objective, total.layers, total.energy, total.latency,
  total.evaluations, explored.cpu_seconds
FROM runs AS explored
JOIN workloads AS workload ON workload.hash = explored.workload
JOIN accelerators AS accelerator ON accelerator.hash = explored.accelerator
LEFT JOIN totals AS total ON total.run = explored.id
ORDER BY explored.started, explored.id;
COMMENT ON MACRO TABLE history IS 'All runs, oldest first, with energy (pJ), latency (cycles) and processor time (s)';

CREATE MACRO network_totals(run) AS TABLE
SELECT
  total.workload, total.accelerator, total.objective, total.layers, total.macs, total.energy,
  parts.mac_energy, parts.memory_energy, total.latency, parts.stall, total.edp,
  total.utilization, total.vector_energy, total.vector_latency, total.vector_counted,
  total.evaluations
FROM totals AS total
JOIN (
  SELECT
    sum(cme.mac_energy ORDER BY result.position) AS mac_energy,
    sum(cme.memory_energy ORDER BY result.position) AS memory_energy,
    sum(cme.stall)::BIGINT AS stall
  FROM results AS result JOIN cmes AS cme ON cme.hash = result.cme
  WHERE result.run = run
) AS parts ON true
WHERE total.run = run;
COMMENT ON MACRO TABLE network_totals IS 'Totals over all layers: energy (pJ), latency and stalls (cycles), EDP (pJ x cycles)';

CREATE MACRO per_layer(run) AS TABLE
SELECT
  result.layer, cme.operator, cme.macs, cme.energy, cme.latency2 AS latency,
  cme.energy * cme.latency2 AS edp, cme.utilization, spatial.text AS spatial_mapping,
  temporal.text AS temporal_mapping, result.repeats, result.evaluations
FROM results AS result
JOIN cmes AS cme ON cme.hash = result.cme
JOIN spatial_mappings AS spatial ON spatial.hash = cme.spatial_mapping
JOIN temporal_mappings AS temporal ON temporal.hash = cme.temporal_mapping
WHERE result.run = run
ORDER BY result.position;
COMMENT ON MACRO TABLE per_layer IS 'The best mapping of each layer: energy (pJ), latency (cycles), EDP (pJ x cycles)';

CREATE MACRO energy_by_memory(run) AS TABLE
WITH spent AS (
  SELECT
    part.memory, part.operand, part.movement,
    sum(part.accesses) AS accesses,
    sum(part.energy ORDER BY result.position, part.level) AS energy
  FROM results AS result JOIN breakdowns AS part ON part.cme = result.cme
  WHERE result.run = run AND part.accesses > 0
  GROUP BY ALL
),
whole AS (
  SELECT sum(cme.energy) AS energy
  FROM results AS result JOIN cmes AS cme ON cme.hash = result.cme
  WHERE result.run = run
)
SELECT spent.*, spent.energy / whole.energy AS share
FROM spent, whole
ORDER BY spent.energy DESC, spent.memory, spent.operand, spent.movement;
COMMENT ON MACRO TABLE energy_by_memory IS 'Where energy goes, over all layers, by memory, operand and movement: accesses (words), energy (pJ), share of all energy';

CREATE MACRO stalls(run) AS TABLE
SELECT
  result.layer, port.memory, port.port, port.stall, cme.stall AS layer_stall,
  cme.latency2 AS latency, cme.stall / cme.latency2 AS share
FROM results AS result
JOIN cmes AS cme ON cme.hash = result.cme
JOIN port_stalls AS port ON port.cme = result.cme
WHERE result.run = run AND port.stall > 0
ORDER BY cme.stall DESC, result.position, port.stall DESC, port.memory, port.port;
COMMENT ON MACRO TABLE stalls IS 'Which ports make the array wait, the worst layer first: stalls of the port and of the layer, latency (cycles)';

CREATE MACRO usage(run) AS TABLE
SELECT
  result.layer, part.memory, part.operand, part.level, part.elements, part.bits,
  part.utilization, part.shared_utilization, part.double_buffered
FROM results AS result JOIN level_usage AS part ON part.cme = result.cme
WHERE result.run = run
ORDER BY result.position, part.operand, part.level;
COMMENT ON MACRO TABLE usage IS 'What each layer keeps in each memory: elements, bits, share of the memory by operand and by all operands';

CREATE MACRO tried(run) AS TABLE
SELECT
  linked.layer, spatial.text AS spatial_mapping,
  if(linked.recalled, 'recalled', 'computed') AS search,
  coalesce(found.outcome, 'not complete') AS outcome, found.count AS candidates
FROM run_searches AS linked
JOIN searches AS search ON search.id = linked.search
JOIN spatial_mappings AS spatial ON spatial.hash = search.spatial_mapping
LEFT JOIN (
  SELECT id AS search, 'feasible' AS outcome, evaluations AS count FROM searches
  WHERE evaluations IS NOT NULL
  UNION ALL
  SELECT search, reason, count FROM infeasible
) AS found ON found.search = search.id
WHERE linked.run = run
ORDER BY linked.position, found.outcome <> 'feasible', found.count DESC, found.outcome;
COMMENT ON MACRO TABLE tried IS 'What was looked at: how many temporal mappings of each layer and spatial mapping could be evaluated, and why the others not';

CREATE MACRO pareto(run) AS TABLE
WITH searched AS MATERIALIZED (
  SELECT
    search.*, linked.position AS turn, linked.layer AS place,
    min(linked.position) OVER (PARTITION BY linked.layer) AS first_turn
  FROM run_searches AS linked JOIN searches AS search ON search.id = linked.search
  WHERE linked.run = run
),
recorded AS ( -- of searches that are not complete: there may be millions
  SELECT
    searched.place, searched.turn, evaluated.search, evaluated.number, evaluated.energy,
    evaluated.latency2
  FROM searched JOIN evaluation_rows AS evaluated ON evaluated.search = searched.id
  WHERE searched.front IS NULL
),
ends AS (
  SELECT
    place,
    arg_min(latency2, energy) AS slowest,
    arg_min(energy, latency2) AS dearest,
    arg_min({'energy': energy, 'latency': latency2}, energy * latency2) AS balanced
  FROM recorded GROUP BY place
),
points AS (
  SELECT
    recorded.turn, recorded.number, recorded.energy, recorded.latency2 AS latency,
    NULL AS ordering, NULL AS cuts
  FROM recorded JOIN ends USING (place)
  WHERE recorded.energy <= ends.dearest AND recorded.latency2 <= ends.slowest
    AND (recorded.energy <= ends.balanced.energy OR recorded.latency2 <= ends.balanced.latency)
  UNION ALL
  SELECT turn, point.number, point.energy, point.latency2, point.ordering, point.cuts
  FROM (SELECT turn, unnest(front) AS point FROM searched)
),
fronts AS MATERIALIZED (
  SELECT
    searched.place, searched.first_turn, searched.id, searched.spatial_mapping,
    searched.factors, searched.operands, searched.code_bits, searched.ideal_cycles, points.*,
    min(points.latency) OVER (
      PARTITION BY searched.place
      ORDER BY points.energy, points.latency, points.turn, points.number
      ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
    ) AS lowest
  FROM points JOIN searched USING (turn)
  QUALIFY lowest IS NULL OR points.latency < lowest
),
spelled AS ( -- a front has what a recorded row must be looked up for
  SELECT * FROM fronts WHERE ordering IS NOT NULL
  UNION ALL
  SELECT fronts.* REPLACE (evaluated.ordering AS ordering, evaluated.cuts AS cuts)
  FROM fronts JOIN evaluation_rows AS evaluated
  ON evaluated.search = fronts.id AND evaluated.number = fronts.number
  WHERE fronts.ordering IS NULL
)
SELECT
  spelled.place AS layer, spelled.energy, spelled.latency,
  spelled.energy * spelled.latency AS edp,
  spelled.ideal_cycles / spelled.latency AS utilization,
  spatial.text AS spatial_mapping,
  spelled_ordering(spelled.factors, spelled.ordering, spelled.code_bits) AS ordering,
  spelled_cuts(spelled.operands, spelled.cuts, spelled.code_bits) AS cuts,
  spelled.id || ':' || spelled.number AS id
FROM spelled JOIN spatial_mappings AS spatial ON spatial.hash = spelled.spatial_mapping
ORDER BY spelled.first_turn, spelled.energy;
COMMENT ON MACRO TABLE pareto IS 'The mappings of each different layer that no other one beats in energy (pJ) and latency (cycles)';

CREATE MACRO top(run, layer, k) AS TABLE
WITH places AS ( -- of equal layers the first was searched
  SELECT linked.layer AS name, 1 AS choice, linked.position AS turn
  FROM run_searches AS linked
  WHERE linked.run = run AND linked.layer = layer
  UNION ALL
  SELECT result.repeats, 2, 0 FROM results AS result
  WHERE result.run = run AND result.layer = layer AND result.repeats IS NOT NULL
  UNION ALL
  SELECT linked.layer, 3, linked.position
  FROM runs AS explored
  JOIN workload_layers AS asked ON asked.workload = explored.workload
  JOIN run_searches AS linked ON linked.run = explored.id
  JOIN searches AS search ON search.id = linked.search AND search.content = asked.layer
  WHERE explored.id = run AND asked.name = layer
),
place AS (SELECT name FROM places ORDER BY choice, turn LIMIT 1),
searched AS MATERIALIZED (
  SELECT search.*, linked.position AS turn, explored.objective
  FROM run_searches AS linked
  JOIN place ON place.name = linked.layer
  JOIN searches AS search ON search.id = linked.search
  JOIN runs AS explored ON explored.id = linked.run
  WHERE linked.run = run
),
points AS (
  SELECT turn, number, energy, latency, ordering, cuts FROM (
    SELECT
      searched.turn, searched.objective, evaluated.number, evaluated.energy,
      evaluated.latency2 AS latency, NULL AS ordering, NULL AS cuts
    FROM searched JOIN evaluation_rows AS evaluated ON evaluated.search = searched.id
    ORDER BY
      objective_of(searched.objective, evaluated.energy, evaluated.latency2),
      evaluated.energy, evaluated.latency2, searched.turn, evaluated.number
    LIMIT k
  )
  UNION ALL
  SELECT turn, point.number, point.energy, point.latency2, point.ordering, point.cuts
  FROM (SELECT turn, unnest(front) AS point FROM searched)
),
ranked AS MATERIALIZED (
  SELECT
    searched.id, searched.spatial_mapping, searched.factors, searched.operands,
    searched.code_bits, searched.ideal_cycles, points.*,
    row_number() OVER (
      ORDER BY
        objective_of(searched.objective, points.energy, points.latency),
        points.energy, points.latency, points.turn, points.number
    ) AS rank
  FROM (
    SELECT turn, number, any_value(energy) AS energy, any_value(latency) AS latency,
      any_value(ordering) AS ordering, any_value(cuts) AS cuts
    FROM points GROUP BY turn, number
  ) AS points JOIN searched USING (turn)
  QUALIFY rank <= k
),
spelled AS (
  SELECT * FROM ranked WHERE ordering IS NOT NULL
  UNION ALL
  SELECT ranked.* REPLACE (evaluated.ordering AS ordering, evaluated.cuts AS cuts)
  FROM ranked JOIN evaluation_rows AS evaluated
  ON evaluated.search = ranked.id AND evaluated.number = ranked.number
  WHERE ranked.ordering IS NULL
)
SELECT
  spelled.rank, spelled.energy, spelled.latency, spelled.energy * spelled.latency AS edp,
  spelled.ideal_cycles / spelled.latency AS utilization, spatial.text AS spatial_mapping,
  spelled_ordering(spelled.factors, spelled.ordering, spelled.code_bits) AS ordering,
  spelled_cuts(spelled.operands, spelled.cuts, spelled.code_bits) AS cuts,
  spelled.id || ':' || spelled.number AS id
FROM spelled JOIN spatial_mappings AS spatial ON spatial.hash = spelled.spatial_mapping
ORDER BY spelled.rank;
COMMENT ON MACRO TABLE top IS 'The k best recorded mappings of a layer by the objective of the run: energy (pJ), latency (cycles), EDP (pJ x cycles)';

CREATE MACRO compare(run, against) AS TABLE
WITH found AS (
  SELECT
    result.run AS explored, result.position, result.layer AS name, cme.energy,
    cme.latency2 AS latency, cme.spatial_mapping, cme.temporal_mapping
  FROM results AS result JOIN cmes AS cme ON cme.hash = result.cme
)
SELECT
  coalesce(now.name, former.name) AS layer,
  former.energy AS energy_before, now.energy AS energy_after,
  now.energy / former.energy AS energy_ratio,
  former.latency AS latency_before, now.latency AS latency_after,
  now.latency / former.latency AS latency_ratio,
  CASE
    WHEN former.name IS NULL THEN 'layer is new'
    WHEN now.name IS NULL THEN 'layer is gone'
    WHEN now.spatial_mapping <> former.spatial_mapping
      AND now.temporal_mapping <> former.temporal_mapping THEN 'spatial and temporal'
    WHEN now.spatial_mapping <> former.spatial_mapping THEN 'spatial'
    WHEN now.temporal_mapping <> former.temporal_mapping THEN 'temporal'
    ELSE 'none'
  END AS mapping_change
FROM (SELECT * FROM found WHERE found.explored = run) AS now
FULL JOIN (SELECT * FROM found WHERE found.explored = against) AS former
ON now.name = former.name
ORDER BY now.position, former.position;
COMMENT ON MACRO TABLE compare IS 'What is different from another run, by layer: energy (pJ), latency (cycles), ratios, whether the mapping changed';

CREATE MACRO settings(run, against) AS TABLE
WITH asked AS (
  SELECT explored.id AS asker, substr(leaf.fullkey, 3) AS setting, leaf.atom AS value
  FROM runs AS explored
  JOIN workloads AS workload ON workload.hash = explored.workload
  JOIN accelerators AS accelerator ON accelerator.hash = explored.accelerator,
  json_tree(json_object(
    'version', explored.version, 'objective', explored.objective,
    'workload', json_object('name', workload.name, 'content', workload.hash),
    'accelerator', json_object('name', accelerator.name, 'array', accelerator.json->'array'),
    'options', explored.options, 'constraints', explored.constraints,
    'top_levels', explored.top_levels
  )) AS leaf
  WHERE explored.id IN (run, against)
  UNION ALL
  SELECT
    explored.id, 'accelerator.memories.' || memory.name || substr(leaf.fullkey, 2), leaf.atom
  FROM runs AS explored JOIN memories AS memory ON memory.accelerator = explored.accelerator,
  json_tree(to_json({
    'size': memory.size, 'read_energy': memory.read_energy, 'write_energy': memory.write_energy,
    'area': memory.area, 'double_buffered': memory.double_buffered,
    'operands': memory.operands, 'served_dimensions': memory.served_dimensions,
    'ports': memory.ports
  })) AS leaf
  WHERE explored.id IN (run, against)
)
SELECT
  coalesce(now.setting, former.setting) AS setting,
  former.value->>'$' AS before, now.value->>'$' AS after
FROM (SELECT * FROM asked WHERE asked.asker = run AND asked.value IS NOT NULL) AS now
FULL JOIN (SELECT * FROM asked WHERE asked.asker = against AND asked.value IS NOT NULL) AS former
ON now.setting = former.setting
WHERE now.value IS DISTINCT FROM former.value
ORDER BY 1;
COMMENT ON MACRO TABLE settings IS 'What was asked differently from another run: workload, accelerator (pJ, bit), mapping constraints, options';
