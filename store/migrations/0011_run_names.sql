-- Names and tags of runs; views that say of which network, accelerator, objective and run a row
-- is; bytes moved, bandwidths, rooflines and times. In a macro a name without its table is a
-- parameter: see 0005.

ALTER TABLE runs ADD COLUMN name VARCHAR;
ALTER TABLE runs ADD COLUMN tags VARCHAR[] DEFAULT [];
COMMENT ON COLUMN runs.name IS 'Name that the user gave it; NULL: none';
COMMENT ON COLUMN runs.tags IS 'Tags that the user gave it';

CREATE MACRO last_run() AS (
  SELECT explored.id FROM runs AS explored ORDER BY explored.started DESC, explored.id DESC LIMIT 1
);
COMMENT ON MACRO last_run IS 'The run that was started last: WHERE run = last_run()';

CREATE MACRO run_id(beginning) AS (
  SELECT if(
    found.number = 1, found.id,
    error(format('{} runs have an id that begins with {}; expected one', found.number, beginning))
  )
  FROM (
    SELECT count(*) AS number, any_value(explored.id) AS id FROM runs AS explored
    WHERE starts_with(explored.id::VARCHAR, lower(beginning::VARCHAR))
  ) AS found
);
COMMENT ON MACRO run_id IS 'The run whose id begins so: WHERE run = run_id(''5f3a91'')';

CREATE MACRO loops_text(ordering) AS
array_to_string([concat('[', loop.dimension, ' ', loop.size, ']') FOR loop IN ordering], ' ');
COMMENT ON MACRO loops_text IS 'Temporal loops as text, innermost first: [FX 3] [C 64] [K 32]';

CREATE OR REPLACE VIEW best AS
SELECT
  result.run,
  explored.name,
  workload.name AS workload,
  accelerator.name AS accelerator,
  explored.objective,
  result.position,
  result.layer,
  cme.operator,
  cme.macs,
  cme.energy,
  cme.latency2 AS latency,
  cme.latency2 * cme.clock_period * 1e-9 AS seconds,
  cme.utilization,
  result.bound,
  result.gap,
  spatial.text AS spatial_mapping,
  temporal.text AS temporal_mapping,
  temporal.ordering,
  result.evaluations,
  result.cme
FROM results AS result
JOIN runs AS explored ON explored.id = result.run
JOIN workloads AS workload ON workload.hash = explored.workload
JOIN accelerators AS accelerator ON accelerator.hash = explored.accelerator
JOIN cmes AS cme ON cme.hash = result.cme
JOIN spatial_mappings AS spatial ON spatial.hash = cme.spatial_mapping
JOIN temporal_mappings AS temporal ON temporal.hash = cme.temporal_mapping;
COMMENT ON VIEW best IS 'The best mapping of each layer of each finished run';
COMMENT ON COLUMN best.run IS 'runs.id';
COMMENT ON COLUMN best.name IS 'Name of the run; NULL: none';
COMMENT ON COLUMN best.workload IS 'Name of the workload';
COMMENT ON COLUMN best.accelerator IS 'Name of the accelerator';
COMMENT ON COLUMN best.objective IS 'What the run made small';
COMMENT ON COLUMN best.position IS 'Position in the run, from 0';
COMMENT ON COLUMN best.layer IS 'Name of the layer';
COMMENT ON COLUMN best.operator IS 'Operator, such as Conv';
COMMENT ON COLUMN best.macs IS 'Multiply-accumulates';
COMMENT ON COLUMN best.energy IS 'Energy (pJ)';
COMMENT ON COLUMN best.latency IS 'Latency with on-loading, off-loading and drain (cycles)';
COMMENT ON COLUMN best.seconds IS 'Latency (s); NULL: the clock period is not known';
COMMENT ON COLUMN best.utilization IS 'Ideal cycles / latency';
COMMENT ON COLUMN best.bound IS 'No mapping of the space searched has a lower objective of the run; NULL: not known';
COMMENT ON COLUMN best.gap IS 'Share by which the optimum may be below this result; 0: it is optimal; NULL: not known';
COMMENT ON COLUMN best.spatial_mapping IS 'The spatial mapping on one line';
COMMENT ON COLUMN best.temporal_mapping IS 'Temporal loops on one line, innermost first';
COMMENT ON COLUMN best.ordering IS 'Temporal loops, innermost first';
COMMENT ON COLUMN best.evaluations IS 'Mappings evaluated to find this one';
COMMENT ON COLUMN best.cme IS 'cmes.hash: the whole evaluation';

CREATE OR REPLACE VIEW evaluations AS
SELECT
  linked.run,
  explored.name,
  workload.name AS workload,
  accelerator.name AS accelerator,
  explored.objective,
  linked.layer,
  mapping.text AS spatial_mapping,
  loops_text(spelled_ordering(search.factors, evaluated.ordering, search.code_bits))
    AS temporal_mapping,
  spelled_ordering(search.factors, evaluated.ordering, search.code_bits) AS ordering,
  spelled_cuts(search.operands, evaluated.cuts, search.code_bits) AS cuts,
  evaluated.energy,
  evaluated.latency2 AS latency,
  evaluated.latency0,
  evaluated.latency1,
  evaluated.latency2,
  search.ideal_cycles / evaluated.latency2 AS utilization,
  evaluated.search || ':' || evaluated.number AS id,
  evaluated.search,
  evaluated.number
FROM evaluation_rows AS evaluated
JOIN searches AS search ON search.id = evaluated.search
JOIN run_searches AS linked ON linked.search = evaluated.search
JOIN runs AS explored ON explored.id = linked.run
JOIN workloads AS workload ON workload.hash = explored.workload
JOIN accelerators AS accelerator ON accelerator.hash = explored.accelerator
JOIN spatial_mappings AS mapping ON mapping.hash = search.spatial_mapping;
COMMENT ON VIEW evaluations IS 'Every recorded evaluation of each run, also what a run recalled from earlier ones';
COMMENT ON COLUMN evaluations.run IS 'runs.id';
COMMENT ON COLUMN evaluations.name IS 'Name of the run; NULL: none';
COMMENT ON COLUMN evaluations.workload IS 'Name of the workload';
COMMENT ON COLUMN evaluations.accelerator IS 'Name of the accelerator';
COMMENT ON COLUMN evaluations.objective IS 'What the run made small';
COMMENT ON COLUMN evaluations.layer IS 'Name of the layer; of equal layers the first';
COMMENT ON COLUMN evaluations.spatial_mapping IS 'The spatial mapping on one line';
COMMENT ON COLUMN evaluations.temporal_mapping IS 'Temporal loops on one line, innermost first';
COMMENT ON COLUMN evaluations.ordering IS 'Temporal loops, innermost first';
COMMENT ON COLUMN evaluations.cuts IS 'Per operand and memory level how many loops lie at or below it';
COMMENT ON COLUMN evaluations.energy IS 'Energy (pJ)';
COMMENT ON COLUMN evaluations.latency IS 'Everything: latency2 (cycles)';
COMMENT ON COLUMN evaluations.latency0 IS 'Computation with stalls (cycles)';
COMMENT ON COLUMN evaluations.latency1 IS 'latency0 and on-loading (cycles)';
COMMENT ON COLUMN evaluations.latency2 IS 'latency1, off-loading and drain (cycles)';
COMMENT ON COLUMN evaluations.utilization IS 'Ideal cycles / latency2';
COMMENT ON COLUMN evaluations.id IS 'The evaluation: what Store.evaluation(id) gives back in full';
COMMENT ON COLUMN evaluations.search IS 'searches.id';
COMMENT ON COLUMN evaluations.number IS 'Number within the search';

CREATE OR REPLACE VIEW outcomes AS
SELECT
  linked.run,
  explored.name,
  workload.name AS workload,
  accelerator.name AS accelerator,
  explored.objective,
  linked.layer,
  mapping.text AS spatial_mapping,
  outcome.outcome,
  outcome.count
FROM (
  SELECT id AS search, 'feasible' AS outcome, evaluations AS count FROM searches
  WHERE evaluations > 0
  UNION ALL
  SELECT search, reason, count FROM infeasible
) AS outcome
JOIN run_searches AS linked ON linked.search = outcome.search
JOIN runs AS explored ON explored.id = linked.run
JOIN workloads AS workload ON workload.hash = explored.workload
JOIN accelerators AS accelerator ON accelerator.hash = explored.accelerator
JOIN searches AS search ON search.id = outcome.search
JOIN spatial_mappings AS mapping ON mapping.hash = search.spatial_mapping;
COMMENT ON VIEW outcomes IS 'How many candidates of each complete search could be evaluated, and why the others not';
COMMENT ON COLUMN outcomes.run IS 'runs.id';
COMMENT ON COLUMN outcomes.name IS 'Name of the run; NULL: none';
COMMENT ON COLUMN outcomes.workload IS 'Name of the workload';
COMMENT ON COLUMN outcomes.accelerator IS 'Name of the accelerator';
COMMENT ON COLUMN outcomes.objective IS 'What the run made small';
COMMENT ON COLUMN outcomes.layer IS 'Name of the layer';
COMMENT ON COLUMN outcomes.spatial_mapping IS 'The spatial mapping on one line';
COMMENT ON COLUMN outcomes.outcome IS 'feasible, or the reason why not';
COMMENT ON COLUMN outcomes.count IS 'Candidates';

CREATE OR REPLACE VIEW totals AS
WITH summed AS (
  SELECT
    result.run,
    count(*) AS layers,
    sum(cme.macs)::BIGINT AS macs,
    sum(cme.energy ORDER BY result.position) AS energy,
    sum(cme.latency2 ORDER BY result.position) AS latency,
    sum(cme.ideal_cycles)::BIGINT AS ideal_cycles,
    sum(result.evaluations)::BIGINT AS evaluations
  FROM results AS result
  JOIN cmes AS cme ON cme.hash = result.cme
  GROUP BY result.run
),
vector AS (
  SELECT
    entry.run,
    sum(entry.energy ORDER BY entry.position) AS energy,
    sum(entry.latency)::BIGINT AS latency
  FROM vector_results AS entry
  GROUP BY entry.run
),
counted AS (
  SELECT
    summed.* REPLACE (
      summed.energy + if(explored.vector_counted, coalesce(vector.energy, 0), 0) AS energy,
      summed.latency + if(explored.vector_counted, coalesce(vector.latency, 0), 0) AS latency
    ),
    coalesce(vector.energy, 0) AS vector_energy,
    coalesce(vector.latency, 0) AS vector_latency,
    explored.* EXCLUDE (id)
  FROM summed
  JOIN runs AS explored ON explored.id = summed.run
  LEFT JOIN vector ON vector.run = summed.run
)
SELECT
  counted.run,
  counted.name,
  counted.tags,
  counted.started,
  workload.name AS workload,
  accelerator.name AS accelerator,
  counted.objective,
  counted.layers,
  counted.macs,
  counted.energy,
  counted.latency,
  counted.latency * accelerator.clock_period * 1e-9 AS seconds,
  counted.energy * counted.latency AS edp,
  counted.ideal_cycles / counted.latency AS utilization,
  counted.evaluations,
  counted.vector_energy,
  counted.vector_latency,
  counted.vector_counted
FROM counted
JOIN workloads AS workload ON workload.hash = counted.workload
JOIN accelerators AS accelerator ON accelerator.hash = counted.accelerator;
COMMENT ON VIEW totals IS 'The totals over all layers of each finished run, and over its vector operators where it counts them';
COMMENT ON COLUMN totals.run IS 'runs.id';
COMMENT ON COLUMN totals.name IS 'Name of the run; NULL: none';
COMMENT ON COLUMN totals.tags IS 'Tags of the run';
COMMENT ON COLUMN totals.started IS 'When the run started (UTC)';
COMMENT ON COLUMN totals.workload IS 'Name of the workload';
COMMENT ON COLUMN totals.accelerator IS 'Name of the accelerator';
COMMENT ON COLUMN totals.objective IS 'What the run made small';
COMMENT ON COLUMN totals.layers IS 'Number of layers';
COMMENT ON COLUMN totals.macs IS 'Multiply-accumulates of all layers';
COMMENT ON COLUMN totals.energy IS 'Energy of all layers, and of vector operators where counted (pJ)';
COMMENT ON COLUMN totals.latency IS 'Latency of all layers, and of vector operators where counted, one after the other (cycles)';
COMMENT ON COLUMN totals.seconds IS 'Latency (s); NULL: the clock period is not known';
COMMENT ON COLUMN totals.edp IS 'energy x latency (pJ x cycles)';
COMMENT ON COLUMN totals.utilization IS 'Ideal cycles / latency';
COMMENT ON COLUMN totals.evaluations IS 'Mappings evaluated';
COMMENT ON COLUMN totals.vector_energy IS 'Energy of all vector operators (pJ)';
COMMENT ON COLUMN totals.vector_latency IS 'Latency of all vector operators, one after the other (cycles)';
COMMENT ON COLUMN totals.vector_counted IS 'Whether energy and latency include the vector operators';

CREATE OR REPLACE MACRO history() AS TABLE
SELECT
  explored.id AS run, explored.name, explored.tags, explored.started, explored.status, explored.kind,
  workload.name AS workload, accelerator.name AS accelerator, explored.objective,
  coalesce(total.layers, parts.layers) AS layers,
  coalesce(total.energy, scheduled.energy) AS energy,
  coalesce(total.latency, scheduled.latency) AS latency,
  coalesce(total.evaluations, parts.evaluations) AS evaluations, explored.cpu_seconds
FROM runs AS explored
JOIN workloads AS workload ON workload.hash = explored.workload
JOIN accelerators AS accelerator ON accelerator.hash = explored.accelerator
LEFT JOIN totals AS total ON total.run = explored.id
LEFT JOIN schedules AS scheduled ON scheduled.run = explored.id
LEFT JOIN (
  SELECT
    layer.run, count(*) AS layers,
    (SELECT max(bred.evaluations) FROM generations AS bred WHERE bred.run = layer.run) AS evaluations
  FROM stream_layers AS layer GROUP BY layer.run
) AS parts ON parts.run = explored.id
ORDER BY explored.started, explored.id;
COMMENT ON MACRO TABLE history IS 'All runs, oldest first, with energy (pJ), latency (cycles) and processor time (s)';

CREATE OR REPLACE MACRO network_totals(run) AS TABLE
SELECT
  total.name, total.workload, total.accelerator, total.objective, total.layers, total.macs,
  total.energy, parts.mac_energy, parts.memory_energy, total.latency, total.seconds, parts.stall, total.edp,
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
COMMENT ON MACRO TABLE network_totals IS 'Totals over all layers: energy (pJ), latency and stalls (cycles), time (s) where the clock period is known, EDP (pJ x cycles)';

CREATE OR REPLACE MACRO per_layer(run) AS TABLE
SELECT
  result.layer, cme.operator, cme.macs, cme.energy, cme.latency2 AS latency,
  cme.latency2 * cme.clock_period * 1e-9 AS seconds,
  cme.energy * cme.latency2 AS edp, cme.utilization, result.bound, result.gap,
  spatial.text AS spatial_mapping, temporal.text AS temporal_mapping, result.repeats,
  result.evaluations
FROM results AS result
JOIN cmes AS cme ON cme.hash = result.cme
JOIN spatial_mappings AS spatial ON spatial.hash = cme.spatial_mapping
JOIN temporal_mappings AS temporal ON temporal.hash = cme.temporal_mapping
WHERE result.run = run
ORDER BY result.position;
COMMENT ON MACRO TABLE per_layer IS 'The best mapping of each layer: energy (pJ), latency (cycles), time (s) where the clock period is known, EDP (pJ x cycles), lower bound of the objective, gap to it';

CREATE OR REPLACE MACRO designs() AS TABLE
WITH design AS (
  SELECT
    explored.id AS run, explored.name, explored.tags, workload.name AS workload, workload.hash AS workload_hash,
    accelerator.name AS accelerator,
    if(accelerator.json->>'area_unit' = 'mm2', accelerator.area, NULL) AS area,
    total.energy, total.latency, total.edp, explored.started
  FROM runs AS explored
  JOIN workloads AS workload ON workload.hash = explored.workload
  JOIN accelerators AS accelerator ON accelerator.hash = explored.accelerator
  JOIN totals AS total ON total.run = explored.id
  WHERE explored.status = 'done'
)
SELECT
  design.run, design.name, design.tags, design.workload, design.accelerator, design.area, design.energy, design.latency,
  design.edp,
  NOT EXISTS (
    SELECT 1 FROM design AS other
    WHERE other.workload_hash = design.workload_hash
      AND (other.area IS NULL) = (design.area IS NULL)
      AND coalesce(other.area <= design.area, true) AND other.energy <= design.energy
      AND other.latency <= design.latency
      AND (coalesce(other.area < design.area, false) OR other.energy < design.energy
        OR other.latency < design.latency)
  ) AS pareto
FROM design
ORDER BY design.workload, design.area, design.energy, design.latency, design.started, design.run;
COMMENT ON MACRO TABLE designs IS 'Finished runs by workload: area (mm2; NULL: no unit is stated), energy (pJ), latency (cycles); pareto: none is as good in all and better in one, of those with an area or of those without';

CREATE VIEW data_movement AS
WITH level AS (
  SELECT
    described.hash AS accelerator, described.sides,
    unnest(from_json(described.memories, '[{
      "instance": {
        "name": "VARCHAR",
        "ports": [{
          "width_max": "BIGINT", "allocation": [{"operand": "VARCHAR", "movement": "VARCHAR"}]
        }]
      },
      "served_dimensions": ["VARCHAR"]
    }]')) AS memory
  FROM (
    SELECT
      hash, json->'memories' AS memories,
      from_json(json->'array'->'sides', '[{"name": "VARCHAR", "size": "BIGINT"}]') AS sides
    FROM accelerators WHERE cores = 1
  ) AS described
),
port AS (
  SELECT
    level.accelerator, level.memory.instance.name AS memory,
    coalesce(list_aggregate([
      side.size FOR side IN level.sides
      IF NOT list_contains(level.memory.served_dimensions, side.name)
    ], 'product'), 1)::BIGINT AS instances,
    list_sum([port.width_max FOR port IN level.memory.instance.ports])::BIGINT AS width,
    unnest(level.memory.instance.ports) AS port,
    generate_subscripts(level.memory.instance.ports, 1) AS place
  FROM level
),
served AS ( -- of the ports that list a movement, the last one serves it
  SELECT
    listed.accelerator, listed.memory, listed.instances, listed.width,
    listed.used.operand AS operand,
    CASE listed.used.movement
      WHEN 'tl' THEN 'rd_to_low' WHEN 'fl' THEN 'wr_by_low'
      WHEN 'th' THEN 'rd_to_high' WHEN 'fh' THEN 'wr_by_high'
    END::movement AS movement,
    arg_max(listed.port_width, listed.place) AS port_width
  FROM (
    SELECT
      port.accelerator, port.memory, port.instances, port.width, port.place,
      port.port.width_max AS port_width, unnest(port.port.allocation) AS used
    FROM port
  ) AS listed
  GROUP BY ALL
),
carried AS (
  SELECT
    linked.cme, linked.link.operand AS operand, linked.link.memory_operand AS memory_operand
  FROM (
    SELECT
      cme.hash AS cme,
      unnest(from_json(
        cme.json->'links', '[{"operand": "VARCHAR", "memory_operand": "VARCHAR"}]'
      )) AS link
    FROM cmes AS cme
  ) AS linked
)
SELECT
  result.run, result.position, result.layer, part.operand, part.memory, part.level,
  part.movement, part.accesses, part.accesses * served.port_width / 8 AS bytes,
  served.instances, served.width * served.instances / 8 AS bandwidth
FROM results AS result
JOIN runs AS explored ON explored.id = result.run
JOIN breakdowns AS part ON part.cme = result.cme AND part.accesses > 0
LEFT JOIN carried ON carried.cme = part.cme AND carried.operand = part.operand
LEFT JOIN served ON served.accelerator = explored.accelerator AND served.memory = part.memory
  AND served.operand = carried.memory_operand AND served.movement = part.movement;
COMMENT ON VIEW data_movement IS 'What each layer of each finished run moves, by operand, memory and movement';
COMMENT ON COLUMN data_movement.run IS 'runs.id';
COMMENT ON COLUMN data_movement.position IS 'Position of the layer in the run, from 0';
COMMENT ON COLUMN data_movement.layer IS 'Name of the layer';
COMMENT ON COLUMN data_movement.operand IS 'Operand of the layer: O, W, I, ...';
COMMENT ON COLUMN data_movement.memory IS 'Name of the memory';
COMMENT ON COLUMN data_movement.level IS 'Memory level of the operand, 0 is the innermost';
COMMENT ON COLUMN data_movement.movement IS 'Read or written, to or by the level below (low) or above (high)';
COMMENT ON COLUMN data_movement.accesses IS 'Accesses of the full width of a port (words)';
COMMENT ON COLUMN data_movement.bytes IS 'Bytes of these accesses, in whole words; NULL: not known of runs before schema 7';
COMMENT ON COLUMN data_movement.instances IS 'Number of instances of the memory';
COMMENT ON COLUMN data_movement.bandwidth IS 'Bytes per cycle that all ports of all instances move at most';

CREATE MACRO bytes_moved(run) AS TABLE
SELECT
  moved.memory, moved.operand,
  coalesce(sum(moved.bytes) FILTER (moved.movement IN ('rd_to_low', 'rd_to_high')), 0) AS read_bytes,
  coalesce(sum(moved.bytes) FILTER (moved.movement IN ('wr_by_low', 'wr_by_high')), 0)
    AS written_bytes,
  sum(moved.bytes) AS bytes
FROM data_movement AS moved
WHERE moved.run = run
GROUP BY moved.memory, moved.operand
ORDER BY bytes DESC, moved.memory, moved.operand;
COMMENT ON MACRO TABLE bytes_moved IS 'Bytes that one inference reads and writes in each memory, over all layers, by operand; in whole words of the ports';

CREATE MACRO bandwidth(run) AS TABLE
SELECT
  moved.layer, moved.memory, sum(moved.bytes) AS bytes,
  sum(moved.bytes) / any_value(cme.latency2) AS bytes_per_cycle,
  any_value(moved.bandwidth) AS bandwidth,
  sum(moved.bytes) / any_value(cme.latency2) / any_value(moved.bandwidth) AS utilization,
  sum(moved.bytes) / any_value(cme.latency2 * cme.clock_period) AS gigabytes_per_second
FROM data_movement AS moved
JOIN results AS result ON result.run = moved.run AND result.position = moved.position
JOIN cmes AS cme ON cme.hash = result.cme
WHERE moved.run = run
GROUP BY moved.position, moved.layer, moved.memory
ORDER BY moved.position, utilization DESC, moved.memory;
COMMENT ON MACRO TABLE bandwidth IS 'Bytes per cycle of each layer in each memory (in GB/s where the clock period is known), and the share of the bandwidth of all ports';

CREATE MACRO roofline(run) AS TABLE
WITH used AS (
  SELECT
    moved.position, moved.layer, moved.memory, sum(moved.bytes) AS bytes,
    any_value(moved.bandwidth) AS bandwidth, any_value(cme.macs) AS macs,
    any_value(cme.latency2) AS latency, any_value(cme.ideal_cycles) AS ideal_cycles
  FROM data_movement AS moved
  JOIN results AS result ON result.run = moved.run AND result.position = moved.position
  JOIN cmes AS cme ON cme.hash = result.cme
  WHERE moved.run = run
  GROUP BY moved.position, moved.layer, moved.memory
)
SELECT
  used.layer, arg_max(used.memory, used.bytes / used.bandwidth) AS memory,
  any_value(used.macs) / arg_max(used.bytes, used.bytes / used.bandwidth) AS intensity,
  any_value(used.macs) / any_value(used.latency) AS performance,
  any_value(used.macs) / max(used.bytes / used.bandwidth) AS memory_ceiling,
  any_value(used.macs) / any_value(used.ideal_cycles) AS array_ceiling,
  if(max(used.bytes / used.bandwidth) > any_value(used.ideal_cycles), 'memory', 'array') AS bound_by,
  greatest(max(used.bytes / used.bandwidth), any_value(used.ideal_cycles))
    / any_value(used.latency) AS attained
FROM used
GROUP BY used.position, used.layer
ORDER BY used.position;
COMMENT ON MACRO TABLE roofline IS 'Each layer under its rooflines: the memory with the lowest ceiling, MAC per byte moved there, MAC per cycle reached and possible, share attained of the lower ceiling; above 1 where the latency model counts less time than a port takes, as ZigZag''s does between tiles';
