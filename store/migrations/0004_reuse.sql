-- What is searched belongs to the store, not to one run: a search has a key made of all that decides
-- its outcome, and a run says which searches it is made of, computed or recalled. Ids of searches are
-- the same on every machine and never clash, so stores can be merged. What is reported (the CMEs) is
-- kept once for each content, with every memory level in tables of its own.

CREATE TYPE record_mode AS ENUM ('all', 'best', 'none');
CREATE TYPE movement AS ENUM ('rd_to_low', 'wr_by_low', 'rd_to_high', 'wr_by_high');
CREATE TYPE port_kind AS ENUM ('read', 'write', 'read_write');

ALTER TABLE runs ADD COLUMN versions JSON DEFAULT '{}';
ALTER TABLE runs ADD COLUMN top_levels JSON DEFAULT '[]';
ALTER TABLE runs ADD COLUMN pareto BOOLEAN DEFAULT false;
ALTER TABLE runs ADD COLUMN seed BIGINT;
ALTER TABLE runs ADD COLUMN record record_mode DEFAULT 'all';
ALTER TABLE runs ADD COLUMN record_limit BIGINT;
ALTER TABLE runs ADD COLUMN fresh BOOLEAN DEFAULT false;
ALTER TABLE runs ADD COLUMN cpu_seconds DOUBLE;
ALTER TABLE runs ADD COLUMN resumed INTEGER DEFAULT 0;
COMMENT ON COLUMN runs.versions IS 'Versions of what computed it: cost model, search, Python, numba, ...';
COMMENT ON COLUMN runs.top_levels IS 'The model.LayerTopLevels: where the user keeps data on chip';
COMMENT ON COLUMN runs.pareto IS 'Whether it looked for energy-latency fronts; its results are the best of these';
COMMENT ON COLUMN runs.seed IS 'Seed of a search that draws random numbers';
COMMENT ON COLUMN runs.record IS 'Which evaluations it keeps: all, the best (no other has less energy and latency) or none';
COMMENT ON COLUMN runs.record_limit IS 'After so many recorded evaluations only the best ones are kept';
COMMENT ON COLUMN runs.fresh IS 'Whether it computed everything anew';
COMMENT ON COLUMN runs.cpu_seconds IS 'Processor time of the process that ran it, all threads (s)';
COMMENT ON COLUMN runs.resumed IS 'How often it was continued after an interruption';
COMMENT ON COLUMN runs.options IS 'The pipeline.plan.SearchPlan: how it searched';

-- searches and all that refers to them

CREATE TEMP TABLE renumbered AS
SELECT id AS old, ('0x' || md5(run::VARCHAR || ':' || id)[1:15])::BIGINT AS id FROM searches;
CREATE TEMP TABLE old_searches AS SELECT * FROM searches;
CREATE TEMP TABLE old_infeasible AS SELECT * FROM infeasible;
CREATE TEMP TABLE counted AS SELECT search, count(*) AS rows FROM evaluation_rows GROUP BY search;
DROP TABLE searches;
DROP TABLE infeasible;
DROP SEQUENCE search_ids;

CREATE TABLE searches (
  id BIGINT PRIMARY KEY,
  key VARCHAR NOT NULL,
  layer VARCHAR NOT NULL,
  content VARCHAR NOT NULL,
  accelerator VARCHAR NOT NULL,
  spatial_mapping VARCHAR NOT NULL,
  constraints JSON NOT NULL,
  top_levels JSON NOT NULL,
  options JSON NOT NULL,
  factors STRUCT(dimension VARCHAR, size INTEGER)[] NOT NULL,
  operands STRUCT(operand VARCHAR, first INTEGER, last INTEGER)[] NOT NULL,
  code_bits UTINYINT NOT NULL,
  ideal_cycles BIGINT NOT NULL,
  record record_mode NOT NULL,
  evaluations BIGINT,
  front STRUCT(
    number BIGINT,
    ordering UBIGINT[],
    cuts UBIGINT[],
    energy DOUBLE,
    latency0 DOUBLE,
    latency1 DOUBLE,
    latency2 DOUBLE
  )[]
);
COMMENT ON TABLE searches IS 'One layer under one spatial mapping, searched in one way: what its evaluations share';
COMMENT ON COLUMN searches.id IS 'Number of the search, different in all stores';
COMMENT ON COLUMN searches.key IS 'Content hash of all that decides what it finds (32 hex digits); empty: of an older nestmap';
COMMENT ON COLUMN searches.layer IS 'Name of the layer that it was done for';
COMMENT ON COLUMN searches.content IS 'layers.hash';
COMMENT ON COLUMN searches.accelerator IS 'accelerators.hash of the memories that the layer uses; that of the run, or less where data stays on chip';
COMMENT ON COLUMN searches.spatial_mapping IS 'spatial_mappings.hash';
COMMENT ON COLUMN searches.constraints IS 'The model.LayerConstraints: what the user fixed for the layer';
COMMENT ON COLUMN searches.top_levels IS 'The model.TopLevel of each operand whose data stays on chip';
COMMENT ON COLUMN searches.options IS 'How it was searched: the options of its stage';
COMMENT ON COLUMN searches.factors IS 'The different temporal loops; evaluation_rows.ordering counts into them';
COMMENT ON COLUMN searches.operands IS 'Where in evaluation_rows.cuts each operand stands, from 1, both ends included';
COMMENT ON COLUMN searches.code_bits IS 'Bits of a code in evaluation_rows; see the macro unpacked';
COMMENT ON COLUMN searches.ideal_cycles IS 'Cycles at full use of the array';
COMMENT ON COLUMN searches.record IS 'Which of its evaluations are recorded: all, at least the best (of its front), or none';
COMMENT ON COLUMN searches.evaluations IS 'Mappings evaluated, recorded or not; unknown until the search is complete';
COMMENT ON COLUMN searches.front IS 'The evaluations that no other one beats in energy and latency; unknown until the search is complete';

INSERT INTO searches
SELECT
  renumbered.id, '', search.layer, place.layer, search.accelerator, search.spatial_mapping,
  search.constraints, '[]', '{}', search.factors, search.operands, 8, search.ideal_cycles, 'all',
  if(run.status = 'done', coalesce(counted.rows, 0), NULL), NULL
FROM old_searches AS search
JOIN renumbered ON renumbered.old = search.id
JOIN runs AS run ON run.id = search.run
JOIN workload_layers AS place ON place.workload = run.workload AND place.name = search.layer
LEFT JOIN counted ON counted.search = search.id;

CREATE TABLE run_searches (
  run UUID NOT NULL,
  position INTEGER NOT NULL,
  search BIGINT NOT NULL,
  layer VARCHAR NOT NULL,
  recalled BOOLEAN NOT NULL,
  PRIMARY KEY (run, position)
);
COMMENT ON TABLE run_searches IS 'The searches that a run is made of; equal layers of a network are searched once, for the first';
COMMENT ON COLUMN run_searches.run IS 'runs.id';
COMMENT ON COLUMN run_searches.position IS 'Position in the run, from 0';
COMMENT ON COLUMN run_searches.search IS 'searches.id';
COMMENT ON COLUMN run_searches.layer IS 'Name of the layer in this run';
COMMENT ON COLUMN run_searches.recalled IS 'Whether it was in the store already';

INSERT INTO run_searches
SELECT
  search.run, row_number() OVER (PARTITION BY search.run ORDER BY search.id) - 1,
  renumbered.id, search.layer, false
FROM old_searches AS search JOIN renumbered ON renumbered.old = search.id;

CREATE TABLE infeasible (
  search BIGINT NOT NULL,
  reason VARCHAR NOT NULL,
  count BIGINT NOT NULL,
  position INTEGER NOT NULL,
  PRIMARY KEY (search, reason)
);
COMMENT ON TABLE infeasible IS 'How many candidates of a complete search failed, by reason';
COMMENT ON COLUMN infeasible.search IS 'searches.id';
COMMENT ON COLUMN infeasible.reason IS 'Why they failed';
COMMENT ON COLUMN infeasible.count IS 'How many candidates failed so';
COMMENT ON COLUMN infeasible.position IS 'Position among the reasons of the search, from 0';

INSERT INTO infeasible
SELECT
  renumbered.id, failed.reason, failed.count,
  row_number() OVER (PARTITION BY failed.search ORDER BY failed.count DESC, failed.reason) - 1
FROM old_infeasible AS failed JOIN renumbered ON renumbered.old = failed.search;

CREATE TABLE rows_of_today (
  search BIGINT NOT NULL,
  number BIGINT NOT NULL,
  ordering UBIGINT[] NOT NULL,
  cuts UBIGINT[] NOT NULL,
  energy DOUBLE NOT NULL,
  latency0 DOUBLE NOT NULL,
  latency1 DOUBLE NOT NULL,
  latency2 DOUBLE NOT NULL
);
CREATE TEMP MACRO words(codes) AS [
  list_sum([
    coalesce(codes[1 + word * 8 + place], 255)::UBIGINT << (8 * place)::UBIGINT
    FOR place IN range(8)
  ])::UBIGINT FOR word IN range((len(codes) + 7) // 8)
];
INSERT INTO rows_of_today
SELECT
  renumbered.id,
  evaluated.* EXCLUDE (search)
  REPLACE (words(evaluated.ordering) AS ordering, words(evaluated.cuts) AS cuts)
FROM evaluation_rows AS evaluated JOIN renumbered ON renumbered.old = evaluated.search
ORDER BY evaluated.search, evaluated.number;
DROP MACRO words;
DROP TABLE evaluation_rows;
ALTER TABLE rows_of_today RENAME TO evaluation_rows;
COMMENT ON TABLE evaluation_rows IS 'Recorded evaluations, as compact codes; the view evaluations spells them out';
COMMENT ON COLUMN evaluation_rows.search IS 'searches.id';
COMMENT ON COLUMN evaluation_rows.number IS 'Number within the search, from 0 in the order of evaluation';
COMMENT ON COLUMN evaluation_rows.ordering IS 'Temporal loops, innermost first, as packed positions in searches.factors from 0; see the macro spelled_ordering';
COMMENT ON COLUMN evaluation_rows.cuts IS 'Per operand and memory level how many loops lie at or below it, packed; see the macro spelled_cuts';
COMMENT ON COLUMN evaluation_rows.energy IS 'Energy (pJ)';
COMMENT ON COLUMN evaluation_rows.latency0 IS 'Computation with stalls (cycles)';
COMMENT ON COLUMN evaluation_rows.latency1 IS 'latency0 and on-loading (cycles)';
COMMENT ON COLUMN evaluation_rows.latency2 IS 'latency1, off-loading and drain: everything (cycles)';

-- the memories of accelerators

CREATE TABLE memories (
  accelerator VARCHAR NOT NULL,
  position INTEGER NOT NULL,
  name VARCHAR NOT NULL,
  size BIGINT NOT NULL,
  read_energy DOUBLE NOT NULL,
  write_energy DOUBLE NOT NULL,
  area DOUBLE NOT NULL,
  double_buffered BOOLEAN NOT NULL,
  operands VARCHAR[] NOT NULL,
  served_dimensions VARCHAR[] NOT NULL,
  ports STRUCT(name VARCHAR, kind port_kind, width_min BIGINT, width_max BIGINT)[] NOT NULL,
  PRIMARY KEY (accelerator, position)
);
COMMENT ON TABLE memories IS 'The memories of each accelerator, innermost first';
COMMENT ON COLUMN memories.accelerator IS 'accelerators.hash';
COMMENT ON COLUMN memories.position IS 'Position in the accelerator, from 0';
COMMENT ON COLUMN memories.name IS 'Name of the memory';
COMMENT ON COLUMN memories.size IS 'Size of one instance (bit)';
COMMENT ON COLUMN memories.read_energy IS 'Energy of reading the full width of a port (pJ)';
COMMENT ON COLUMN memories.write_energy IS 'Energy of writing the full width of a port (pJ)';
COMMENT ON COLUMN memories.area IS 'Area of one instance, in the unit of the description';
COMMENT ON COLUMN memories.double_buffered IS 'Whether it always keeps two copies of a tile';
COMMENT ON COLUMN memories.operands IS 'The memory operands that it holds, such as I1, I2, O';
COMMENT ON COLUMN memories.served_dimensions IS 'The array dimensions along which units share an instance';
COMMENT ON COLUMN memories.ports IS 'Its ports, with the least and the full width (bit/cycle)';

INSERT INTO memories
SELECT
  described.accelerator, described.position - 1, memory.instance.name, memory.instance.size,
  memory.instance.read_energy, memory.instance.write_energy, memory.instance.area,
  memory.instance.double_buffered, memory.operands, memory.served_dimensions,
  memory.instance.ports
FROM (
  SELECT hash AS accelerator, unnest(levels) AS memory, generate_subscripts(levels, 1) AS position
  FROM (
    SELECT hash, from_json(json->'memories', '[{
      "instance": {
        "name": "VARCHAR", "size": "BIGINT", "read_energy": "DOUBLE", "write_energy": "DOUBLE",
        "area": "DOUBLE", "double_buffered": "BOOLEAN",
        "ports": [{"name": "VARCHAR", "kind": "VARCHAR", "width_min": "BIGINT", "width_max": "BIGINT"}]
      },
      "operands": ["VARCHAR"], "served_dimensions": ["VARCHAR"]
    }]') AS levels
    FROM accelerators
  )
) AS described;

-- what is reported

CREATE TABLE temporal_mappings (
  hash VARCHAR PRIMARY KEY,
  text VARCHAR NOT NULL,
  ordering STRUCT(dimension VARCHAR, size INTEGER)[] NOT NULL,
  cuts STRUCT(operand VARCHAR, positions INTEGER[])[] NOT NULL
);
COMMENT ON TABLE temporal_mappings IS 'The temporal mappings of all reported evaluations, one row for each different content';
COMMENT ON COLUMN temporal_mappings.hash IS 'Content hash of the temporal mapping (32 hex digits)';
COMMENT ON COLUMN temporal_mappings.text IS 'The loops on one line, innermost first';
COMMENT ON COLUMN temporal_mappings.ordering IS 'Temporal loops, innermost first';
COMMENT ON COLUMN temporal_mappings.cuts IS 'Per operand and memory level how many loops lie at or below it';

CREATE TABLE cmes (
  hash VARCHAR PRIMARY KEY,
  operator VARCHAR NOT NULL,
  macs BIGINT NOT NULL,
  spatial_mapping VARCHAR NOT NULL,
  temporal_mapping VARCHAR NOT NULL,
  energy DOUBLE NOT NULL,
  mac_energy DOUBLE NOT NULL,
  memory_energy DOUBLE NOT NULL,
  latency0 DOUBLE NOT NULL,
  latency1 DOUBLE NOT NULL,
  latency2 DOUBLE NOT NULL,
  ideal_cycles BIGINT NOT NULL,
  ideal_temporal_cycles BIGINT NOT NULL,
  stall BIGINT NOT NULL,
  onloading DOUBLE NOT NULL,
  offloading DOUBLE NOT NULL,
  drain BIGINT NOT NULL,
  utilization DOUBLE NOT NULL,
  area DOUBLE NOT NULL,
  json JSON NOT NULL
);
COMMENT ON TABLE cmes IS 'Cost model evaluations in full, of every mapping that a run reported';
COMMENT ON COLUMN cmes.hash IS 'Content hash of layer, accelerator, mappings and cost model (32 hex digits)';
COMMENT ON COLUMN cmes.operator IS 'Operator of the layer, such as Conv';
COMMENT ON COLUMN cmes.macs IS 'Multiply-accumulates';
COMMENT ON COLUMN cmes.spatial_mapping IS 'spatial_mappings.hash';
COMMENT ON COLUMN cmes.temporal_mapping IS 'temporal_mappings.hash';
COMMENT ON COLUMN cmes.energy IS 'Energy (pJ)';
COMMENT ON COLUMN cmes.mac_energy IS 'Energy of the multiply-accumulates (pJ)';
COMMENT ON COLUMN cmes.memory_energy IS 'Energy of all memories (pJ)';
COMMENT ON COLUMN cmes.latency0 IS 'Computation with stalls (cycles)';
COMMENT ON COLUMN cmes.latency1 IS 'latency0 and on-loading (cycles)';
COMMENT ON COLUMN cmes.latency2 IS 'latency1, off-loading and drain: everything (cycles)';
COMMENT ON COLUMN cmes.ideal_cycles IS 'Cycles at full use of the array';
COMMENT ON COLUMN cmes.ideal_temporal_cycles IS 'Cycles of all temporal loops, without stalls';
COMMENT ON COLUMN cmes.stall IS 'Cycles in which the array waits for memories';
COMMENT ON COLUMN cmes.onloading IS 'Cycles to load the first data';
COMMENT ON COLUMN cmes.offloading IS 'Cycles to store the last results';
COMMENT ON COLUMN cmes.drain IS 'Cycles to drain a systolic array';
COMMENT ON COLUMN cmes.utilization IS 'ideal_cycles / latency2';
COMMENT ON COLUMN cmes.area IS 'Area of the accelerator, in the unit of the description';
COMMENT ON COLUMN cmes.json IS 'The whole model.CostModelEvaluation without the name of its layer';

CREATE TABLE breakdowns (
  cme VARCHAR NOT NULL,
  operand VARCHAR NOT NULL,
  level INTEGER NOT NULL,
  memory VARCHAR NOT NULL,
  movement movement NOT NULL,
  accesses BIGINT NOT NULL,
  energy DOUBLE NOT NULL,
  PRIMARY KEY (cme, operand, level, movement)
);
COMMENT ON TABLE breakdowns IS 'What each operand costs at each memory level in each direction, of every reported evaluation';
COMMENT ON COLUMN breakdowns.cme IS 'cmes.hash';
COMMENT ON COLUMN breakdowns.operand IS 'Operand of the layer: O, W, I, ...';
COMMENT ON COLUMN breakdowns.level IS 'Memory level of the operand, 0 is the innermost';
COMMENT ON COLUMN breakdowns.memory IS 'Name of the memory';
COMMENT ON COLUMN breakdowns.movement IS 'Read or written, to or by the level below (low) or above (high)';
COMMENT ON COLUMN breakdowns.accesses IS 'Accesses of the full width of a port (words)';
COMMENT ON COLUMN breakdowns.energy IS 'Energy (pJ)';

CREATE TABLE level_usage (
  cme VARCHAR NOT NULL,
  operand VARCHAR NOT NULL,
  level INTEGER NOT NULL,
  memory VARCHAR NOT NULL,
  elements BIGINT NOT NULL,
  bits BIGINT NOT NULL,
  utilization DOUBLE NOT NULL,
  shared_utilization DOUBLE NOT NULL,
  effective_utilization DOUBLE NOT NULL,
  effective_shared_utilization DOUBLE NOT NULL,
  double_buffered BOOLEAN NOT NULL,
  PRIMARY KEY (cme, operand, level)
);
COMMENT ON TABLE level_usage IS 'What each operand takes up at each memory level, of every reported evaluation';
COMMENT ON COLUMN level_usage.cme IS 'cmes.hash';
COMMENT ON COLUMN level_usage.operand IS 'Operand of the layer: O, W, I, ...';
COMMENT ON COLUMN level_usage.level IS 'Memory level of the operand, 0 is the innermost';
COMMENT ON COLUMN level_usage.memory IS 'Name of the memory';
COMMENT ON COLUMN level_usage.elements IS 'Elements that one instance holds';
COMMENT ON COLUMN level_usage.bits IS 'What one instance holds (bit)';
COMMENT ON COLUMN level_usage.utilization IS 'Of the size of the memory, by this operand';
COMMENT ON COLUMN level_usage.shared_utilization IS 'Of the size of the memory, by all operands';
COMMENT ON COLUMN level_usage.effective_utilization IS 'The same, counting only what is live';
COMMENT ON COLUMN level_usage.effective_shared_utilization IS 'The same of all operands';
COMMENT ON COLUMN level_usage.double_buffered IS 'Whether data is replaced while it is in use';

CREATE TABLE port_stalls (
  cme VARCHAR NOT NULL,
  memory VARCHAR NOT NULL,
  port VARCHAR NOT NULL,
  stall BIGINT NOT NULL,
  PRIMARY KEY (cme, memory, port)
);
COMMENT ON TABLE port_stalls IS 'For how long each port makes the array wait, of every reported evaluation';
COMMENT ON COLUMN port_stalls.cme IS 'cmes.hash';
COMMENT ON COLUMN port_stalls.memory IS 'Name of the memory';
COMMENT ON COLUMN port_stalls.port IS 'Name of the port';
COMMENT ON COLUMN port_stalls.stall IS 'Stall, or slack where negative (cycles)';

CREATE TEMP TABLE old_results AS
SELECT
  results.*,
  md5(run::VARCHAR || ':' || position) AS hash,
  md5(ordering::VARCHAR || cuts::VARCHAR) AS temporal_mapping,
  from_json(cme, '{
    "ideal_temporal_cycles": "BIGINT", "area": "DOUBLE",
    "levels": [{
      "operand": "VARCHAR", "memory": "VARCHAR", "level": "INTEGER",
      "costs": {"accesses": ["BIGINT"], "energies": ["DOUBLE"]},
      "elements": "BIGINT", "bits": "BIGINT", "utilization": "DOUBLE",
      "shared_utilization": "DOUBLE", "effective_utilization": "DOUBLE",
      "effective_shared_utilization": "DOUBLE", "double_buffered": "BOOLEAN"
    }],
    "port_stalls": [{"memory": "VARCHAR", "port": "VARCHAR", "stall": "BIGINT"}]
  }') AS found
FROM results;

INSERT INTO temporal_mappings
SELECT
  temporal_mapping,
  array_to_string(['[' || loop.dimension || ' ' || loop.size || ']' FOR loop IN any_value(ordering)], ' '),
  any_value(ordering), any_value(cuts)
FROM old_results GROUP BY temporal_mapping;
INSERT INTO cmes
SELECT
  hash, operator, macs, spatial_mapping, temporal_mapping, energy, mac_energy, memory_energy,
  latency0, latency1, latency2, ideal_cycles, found.ideal_temporal_cycles, stall, onloading,
  offloading, drain, utilization, found.area, cme
FROM old_results;
CREATE TEMP TABLE old_levels AS SELECT hash, unnest(found.levels) AS part FROM old_results;
INSERT INTO breakdowns
SELECT
  hash, part.operand, part.level, part.memory, enum_range(NULL::movement)[direction]::movement,
  part.costs.accesses[direction], part.costs.energies[direction]
FROM old_levels, range(1, 5) AS directions(direction);
INSERT INTO level_usage
SELECT
  hash, part.operand, part.level, part.memory, part.elements, part.bits, part.utilization,
  part.shared_utilization, part.effective_utilization, part.effective_shared_utilization,
  part.double_buffered
FROM old_levels;
INSERT INTO port_stalls
SELECT hash, part.memory, part.port, part.stall
FROM (SELECT hash, unnest(found.port_stalls) AS part FROM old_results);

DROP TABLE results;
CREATE TABLE results (
  run UUID NOT NULL,
  position INTEGER NOT NULL,
  layer VARCHAR NOT NULL,
  cme VARCHAR NOT NULL,
  evaluations BIGINT NOT NULL,
  pruned BIGINT NOT NULL,
  infeasible STRUCT(reason VARCHAR, count BIGINT)[] NOT NULL,
  repeats VARCHAR,
  PRIMARY KEY (run, position)
);
COMMENT ON TABLE results IS 'The mapping chosen for each layer of a finished run';
COMMENT ON COLUMN results.run IS 'runs.id';
COMMENT ON COLUMN results.position IS 'Position in the results of the run, from 0';
COMMENT ON COLUMN results.layer IS 'Name of the layer';
COMMENT ON COLUMN results.cme IS 'cmes.hash: what it costs';
COMMENT ON COLUMN results.evaluations IS 'Mappings evaluated to find this one';
COMMENT ON COLUMN results.pruned IS 'Spatial mappings left out because they cannot have a better mapping';
COMMENT ON COLUMN results.infeasible IS 'Candidates that failed, by reason';
COMMENT ON COLUMN results.repeats IS 'The earlier layer of the run that has the same content, mapping and cost, if any';
INSERT INTO results
SELECT run, position, layer, hash, evaluations, coalesce(pruned, 0), infeasible, repeats
FROM old_results ORDER BY run, position;

DROP TABLE renumbered;
DROP TABLE old_searches;
DROP TABLE old_infeasible;
DROP TABLE counted;
DROP TABLE old_results;
DROP TABLE old_levels;

-- views

-- Codes are packed into words, as many as fit one, the first in the lowest bits. The last word is
-- filled with the highest number, which is no code.
CREATE MACRO unpacked(words, bits) AS [
  (
    (words[1 + place // (64 // bits)] >> (bits * (place % (64 // bits)))::UBIGINT)
    & ((1::UBIGINT << bits::UBIGINT) - 1)
  )::UTINYINT
  FOR place IN range(len(words) * (64 // bits))
];
COMMENT ON MACRO unpacked IS 'The codes in words of evaluation_rows, with searches.code_bits bits each, and the fillers behind them';
CREATE MACRO spelled_ordering(factors, words, bits) AS
[factors[code + 1] FOR code IN unpacked(words, bits) IF code < (1::UBIGINT << bits::UBIGINT) - 1];
COMMENT ON MACRO spelled_ordering IS 'Temporal loops, innermost first, of the words in evaluation_rows';
CREATE MACRO spelled_cuts(operands, words, bits) AS [
  {'operand': part.operand, 'positions': unpacked(words, bits)[part.first : part.last]}
  FOR part IN operands
];
COMMENT ON MACRO spelled_cuts IS 'Per operand and memory level how many loops lie at or below it, of the words in evaluation_rows';

CREATE OR REPLACE VIEW evaluations AS
SELECT
  linked.run,
  linked.layer,
  mapping.text AS spatial_mapping,
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
JOIN spatial_mappings AS mapping ON mapping.hash = search.spatial_mapping;
COMMENT ON VIEW evaluations IS 'Every recorded evaluation of each run, also what a run recalled from earlier ones';
COMMENT ON COLUMN evaluations.run IS 'runs.id';
COMMENT ON COLUMN evaluations.layer IS 'Name of the layer; of equal layers the first';
COMMENT ON COLUMN evaluations.spatial_mapping IS 'The spatial mapping on one line';
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

CREATE VIEW outcomes AS
SELECT linked.run, linked.layer, mapping.text AS spatial_mapping, outcome.outcome, outcome.count
FROM (
  SELECT id AS search, 'feasible' AS outcome, evaluations AS count FROM searches
  WHERE evaluations > 0
  UNION ALL
  SELECT search, reason, count FROM infeasible
) AS outcome
JOIN run_searches AS linked ON linked.search = outcome.search
JOIN searches AS search ON search.id = outcome.search
JOIN spatial_mappings AS mapping ON mapping.hash = search.spatial_mapping;
COMMENT ON VIEW outcomes IS 'How many candidates of each complete search could be evaluated, and why the others not';
COMMENT ON COLUMN outcomes.run IS 'runs.id';
COMMENT ON COLUMN outcomes.layer IS 'Name of the layer';
COMMENT ON COLUMN outcomes.spatial_mapping IS 'The spatial mapping on one line';
COMMENT ON COLUMN outcomes.outcome IS 'feasible, or the reason why not';
COMMENT ON COLUMN outcomes.count IS 'Candidates';

CREATE OR REPLACE VIEW best AS
SELECT
  result.run,
  result.position,
  result.layer,
  cme.operator,
  cme.macs,
  cme.energy,
  cme.latency2 AS latency,
  cme.utilization,
  spatial.text AS spatial_mapping,
  temporal.ordering,
  result.evaluations,
  result.cme
FROM results AS result
JOIN cmes AS cme ON cme.hash = result.cme
JOIN spatial_mappings AS spatial ON spatial.hash = cme.spatial_mapping
JOIN temporal_mappings AS temporal ON temporal.hash = cme.temporal_mapping;
COMMENT ON VIEW best IS 'The best mapping of each layer of each finished run';
COMMENT ON COLUMN best.run IS 'runs.id';
COMMENT ON COLUMN best.position IS 'Position in the run, from 0';
COMMENT ON COLUMN best.layer IS 'Name of the layer';
COMMENT ON COLUMN best.operator IS 'Operator, such as Conv';
COMMENT ON COLUMN best.macs IS 'Multiply-accumulates';
COMMENT ON COLUMN best.energy IS 'Energy (pJ)';
COMMENT ON COLUMN best.latency IS 'Latency with on-loading, off-loading and drain (cycles)';
COMMENT ON COLUMN best.utilization IS 'Ideal cycles / latency';
COMMENT ON COLUMN best.spatial_mapping IS 'The spatial mapping on one line';
COMMENT ON COLUMN best.ordering IS 'Temporal loops, innermost first';
COMMENT ON COLUMN best.evaluations IS 'Mappings evaluated to find this one';
COMMENT ON COLUMN best.cme IS 'cmes.hash: the whole evaluation';

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
  counted.started,
  workload.name AS workload,
  accelerator.name AS accelerator,
  counted.objective,
  counted.layers,
  counted.macs,
  counted.energy,
  counted.latency,
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
COMMENT ON COLUMN totals.started IS 'When the run started (UTC)';
COMMENT ON COLUMN totals.workload IS 'Name of the workload';
COMMENT ON COLUMN totals.accelerator IS 'Name of the accelerator';
COMMENT ON COLUMN totals.objective IS 'What the run made small';
COMMENT ON COLUMN totals.layers IS 'Number of layers';
COMMENT ON COLUMN totals.macs IS 'Multiply-accumulates of all layers';
COMMENT ON COLUMN totals.energy IS 'Energy of all layers, and of vector operators where counted (pJ)';
COMMENT ON COLUMN totals.latency IS 'Latency of all layers, and of vector operators where counted, one after the other (cycles)';
COMMENT ON COLUMN totals.edp IS 'energy x latency (pJ x cycles)';
COMMENT ON COLUMN totals.utilization IS 'Ideal cycles / latency';
COMMENT ON COLUMN totals.evaluations IS 'Mappings evaluated';
COMMENT ON COLUMN totals.vector_energy IS 'Energy of all vector operators (pJ)';
COMMENT ON COLUMN totals.vector_latency IS 'Latency of all vector operators, one after the other (cycles)';
COMMENT ON COLUMN totals.vector_counted IS 'Whether energy and latency include the vector operators';
CREATE INDEX searches_by_key ON searches (key);
