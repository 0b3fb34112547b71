-- What one exploration is and found. Identity is content: tables with a `hash` hold every different
-- thing once, however many runs use it. Foreign keys are not declared (checking them would cost more
-- than writing the rows); the comments name what a column points to.

CREATE TYPE run_status AS ENUM ('running', 'done', 'failed', 'interrupted');
CREATE TYPE objective AS ENUM ('energy', 'latency', 'edp');

CREATE TABLE workloads (
  hash VARCHAR PRIMARY KEY,
  name VARCHAR NOT NULL,
  macs BIGINT NOT NULL,
  json JSON NOT NULL
);
COMMENT ON TABLE workloads IS 'Networks, one row for each different content';
COMMENT ON COLUMN workloads.hash IS 'Content hash of the workload (32 hex digits)';
COMMENT ON COLUMN workloads.name IS 'Name of the workload';
COMMENT ON COLUMN workloads.macs IS 'Multiply-accumulates of all layers';
COMMENT ON COLUMN workloads.json IS 'The whole model.Workload';

CREATE TABLE layers (
  hash VARCHAR PRIMARY KEY,
  operator VARCHAR NOT NULL,
  equation VARCHAR NOT NULL,
  loops STRUCT(dimension VARCHAR, size INTEGER)[] NOT NULL,
  macs BIGINT NOT NULL,
  json JSON NOT NULL
);
COMMENT ON TABLE layers IS 'Layers without their names and sources: equal layers of a network are one row';
COMMENT ON COLUMN layers.hash IS 'Content hash of the layer, its name and sources left out';
COMMENT ON COLUMN layers.operator IS 'Operator, such as Conv';
COMMENT ON COLUMN layers.equation IS 'Operands with their indices';
COMMENT ON COLUMN layers.loops IS 'Loop dimensions and their sizes';
COMMENT ON COLUMN layers.macs IS 'Multiply-accumulates';
COMMENT ON COLUMN layers.json IS 'The model.Layer, named "layer" and without sources';

CREATE TABLE workload_layers (
  workload VARCHAR NOT NULL,
  position INTEGER NOT NULL,
  name VARCHAR NOT NULL,
  layer VARCHAR NOT NULL,
  PRIMARY KEY (workload, position)
);
COMMENT ON TABLE workload_layers IS 'Which layers a workload has, under which names';
COMMENT ON COLUMN workload_layers.workload IS 'workloads.hash';
COMMENT ON COLUMN workload_layers.position IS 'Position in the order of computation, from 0';
COMMENT ON COLUMN workload_layers.name IS 'Name of the layer, unique in its workload';
COMMENT ON COLUMN workload_layers.layer IS 'layers.hash';

CREATE TABLE accelerators (
  hash VARCHAR PRIMARY KEY,
  name VARCHAR NOT NULL,
  units BIGINT NOT NULL,
  area DOUBLE NOT NULL,
  json JSON NOT NULL
);
COMMENT ON TABLE accelerators IS 'Accelerators, one row for each different content';
COMMENT ON COLUMN accelerators.hash IS 'Content hash of the accelerator (32 hex digits)';
COMMENT ON COLUMN accelerators.name IS 'Name of the accelerator';
COMMENT ON COLUMN accelerators.units IS 'Multiply-accumulate units of the array';
COMMENT ON COLUMN accelerators.area IS 'Area of the array and all memories, in the unit of the description';
COMMENT ON COLUMN accelerators.json IS 'The whole model.Accelerator';

CREATE TABLE spatial_mappings (
  hash VARCHAR PRIMARY KEY,
  text VARCHAR NOT NULL,
  unrollings STRUCT(
    array_dimension VARCHAR,
    loops STRUCT(dimension VARCHAR, size INTEGER)[]
  )[] NOT NULL,
  json JSON NOT NULL
);
COMMENT ON TABLE spatial_mappings IS 'Spatial mappings, one row for each different content';
COMMENT ON COLUMN spatial_mappings.hash IS 'Content hash of the spatial mapping (32 hex digits)';
COMMENT ON COLUMN spatial_mappings.text IS 'The mapping on one line: D1: K 32, D2: C 2 x FX 3';
COMMENT ON COLUMN spatial_mappings.unrollings IS 'The loops unrolled over each array dimension';
COMMENT ON COLUMN spatial_mappings.json IS 'The whole model.SpatialMapping';

CREATE TABLE runs (
  id UUID PRIMARY KEY,
  command VARCHAR NOT NULL,
  version VARCHAR NOT NULL,
  objective objective NOT NULL,
  pipeline JSON NOT NULL,
  options JSON NOT NULL,
  workload VARCHAR NOT NULL,
  accelerator VARCHAR NOT NULL,
  constraints JSON NOT NULL,
  host VARCHAR NOT NULL,
  pid INTEGER NOT NULL,
  started TIMESTAMP NOT NULL,
  ended TIMESTAMP,
  status run_status NOT NULL,
  reason VARCHAR
);
COMMENT ON TABLE runs IS 'Explorations';
COMMENT ON COLUMN runs.id IS 'The run';
COMMENT ON COLUMN runs.command IS 'What was called';
COMMENT ON COLUMN runs.version IS 'Version of nestmap';
COMMENT ON COLUMN runs.objective IS 'What the run made small';
COMMENT ON COLUMN runs.pipeline IS 'The stages and how they are wired';
COMMENT ON COLUMN runs.options IS 'Options of the command';
COMMENT ON COLUMN runs.workload IS 'workloads.hash';
COMMENT ON COLUMN runs.accelerator IS 'accelerators.hash';
COMMENT ON COLUMN runs.constraints IS 'The model.MappingConstraints: what the user fixed';
COMMENT ON COLUMN runs.host IS 'Machine that ran it';
COMMENT ON COLUMN runs.pid IS 'Process that ran it';
COMMENT ON COLUMN runs.started IS 'When it started (UTC)';
COMMENT ON COLUMN runs.ended IS 'When it ended (UTC); unknown while running and where the process was killed';
COMMENT ON COLUMN runs.status IS 'running, done, failed (see reason) or interrupted';
COMMENT ON COLUMN runs.reason IS 'Why it failed or was interrupted';

CREATE SEQUENCE search_ids;

CREATE TABLE searches (
  id INTEGER PRIMARY KEY,
  run UUID NOT NULL,
  layer VARCHAR NOT NULL,
  spatial_mapping VARCHAR NOT NULL,
  constraints JSON NOT NULL,
  factors STRUCT(dimension VARCHAR, size INTEGER)[] NOT NULL,
  operands STRUCT(operand VARCHAR, first INTEGER, last INTEGER)[] NOT NULL,
  ideal_cycles BIGINT NOT NULL
);
COMMENT ON TABLE searches IS 'One layer under one spatial mapping in one run: what its evaluations share';
COMMENT ON COLUMN searches.id IS 'Number of the search, unique in the store';
COMMENT ON COLUMN searches.run IS 'runs.id';
COMMENT ON COLUMN searches.layer IS 'workload_layers.name';
COMMENT ON COLUMN searches.spatial_mapping IS 'spatial_mappings.hash';
COMMENT ON COLUMN searches.constraints IS 'The model.LayerConstraints: what the user fixed for the layer';
COMMENT ON COLUMN searches.factors IS 'The different temporal loops; evaluation_rows.ordering counts into them';
COMMENT ON COLUMN searches.operands IS 'Where in evaluation_rows.cuts each operand stands, from 1, both ends included';
COMMENT ON COLUMN searches.ideal_cycles IS 'Cycles at full use of the array';

CREATE TABLE evaluation_rows (
  search INTEGER NOT NULL,
  number BIGINT NOT NULL,
  ordering UTINYINT[] NOT NULL,
  cuts UTINYINT[] NOT NULL,
  energy DOUBLE NOT NULL,
  latency0 DOUBLE NOT NULL,
  latency1 DOUBLE NOT NULL,
  latency2 DOUBLE NOT NULL
);
COMMENT ON TABLE evaluation_rows IS 'Every evaluated mapping, as compact codes; the view evaluations spells them out';
COMMENT ON COLUMN evaluation_rows.search IS 'searches.id';
COMMENT ON COLUMN evaluation_rows.number IS 'Number within the search, from 0 in the order of evaluation';
COMMENT ON COLUMN evaluation_rows.ordering IS 'Temporal loops, innermost first, as positions in searches.factors from 0';
COMMENT ON COLUMN evaluation_rows.cuts IS 'Per operand and memory level how many loops lie at or below it; see searches.operands';
COMMENT ON COLUMN evaluation_rows.energy IS 'Energy (pJ)';
COMMENT ON COLUMN evaluation_rows.latency0 IS 'Computation with stalls (cycles)';
COMMENT ON COLUMN evaluation_rows.latency1 IS 'latency0 and on-loading (cycles)';
COMMENT ON COLUMN evaluation_rows.latency2 IS 'latency1, off-loading and drain: everything (cycles)';

CREATE TABLE infeasible (
  search INTEGER NOT NULL,
  reason VARCHAR NOT NULL,
  count BIGINT NOT NULL,
  PRIMARY KEY (search, reason)
);
COMMENT ON TABLE infeasible IS 'How many candidates of a search failed, by reason';
COMMENT ON COLUMN infeasible.search IS 'searches.id';
COMMENT ON COLUMN infeasible.reason IS 'Why they failed';
COMMENT ON COLUMN infeasible.count IS 'How many candidates failed so';

CREATE TABLE results (
  run UUID NOT NULL,
  position INTEGER NOT NULL,
  layer VARCHAR NOT NULL,
  operator VARCHAR NOT NULL,
  macs BIGINT NOT NULL,
  spatial_mapping VARCHAR NOT NULL,
  ordering STRUCT(dimension VARCHAR, size INTEGER)[] NOT NULL,
  cuts STRUCT(operand VARCHAR, positions INTEGER[])[] NOT NULL,
  energy DOUBLE NOT NULL,
  mac_energy DOUBLE NOT NULL,
  memory_energy DOUBLE NOT NULL,
  latency0 DOUBLE NOT NULL,
  latency1 DOUBLE NOT NULL,
  latency2 DOUBLE NOT NULL,
  ideal_cycles BIGINT NOT NULL,
  stall BIGINT NOT NULL,
  onloading DOUBLE NOT NULL,
  offloading DOUBLE NOT NULL,
  drain BIGINT NOT NULL,
  utilization DOUBLE NOT NULL,
  evaluations BIGINT NOT NULL,
  infeasible STRUCT(reason VARCHAR, count BIGINT)[] NOT NULL,
  cme JSON NOT NULL,
  PRIMARY KEY (run, position)
);
COMMENT ON TABLE results IS 'The mapping chosen for each layer of a finished run, with its full evaluation';
COMMENT ON COLUMN results.run IS 'runs.id';
COMMENT ON COLUMN results.position IS 'Position in the results of the run, from 0';
COMMENT ON COLUMN results.layer IS 'Name of the layer';
COMMENT ON COLUMN results.operator IS 'Operator, such as Conv';
COMMENT ON COLUMN results.macs IS 'Multiply-accumulates';
COMMENT ON COLUMN results.spatial_mapping IS 'spatial_mappings.hash';
COMMENT ON COLUMN results.ordering IS 'Temporal loops, innermost first';
COMMENT ON COLUMN results.cuts IS 'Per operand and memory level how many loops lie at or below it';
COMMENT ON COLUMN results.energy IS 'Energy (pJ)';
COMMENT ON COLUMN results.mac_energy IS 'Energy of the multiply-accumulates (pJ)';
COMMENT ON COLUMN results.memory_energy IS 'Energy of all memories (pJ)';
COMMENT ON COLUMN results.latency0 IS 'Computation with stalls (cycles)';
COMMENT ON COLUMN results.latency1 IS 'latency0 and on-loading (cycles)';
COMMENT ON COLUMN results.latency2 IS 'latency1, off-loading and drain: everything (cycles)';
COMMENT ON COLUMN results.ideal_cycles IS 'Cycles at full use of the array';
COMMENT ON COLUMN results.stall IS 'Cycles in which the array waits for memories';
COMMENT ON COLUMN results.onloading IS 'Cycles to load the first data';
COMMENT ON COLUMN results.offloading IS 'Cycles to store the last results';
COMMENT ON COLUMN results.drain IS 'Cycles to drain a systolic array';
COMMENT ON COLUMN results.utilization IS 'ideal_cycles / latency2';
COMMENT ON COLUMN results.evaluations IS 'Mappings evaluated to find this one';
COMMENT ON COLUMN results.infeasible IS 'Candidates that failed, by reason';
COMMENT ON COLUMN results.cme IS 'The whole model.CostModelEvaluation, with every memory level';

CREATE VIEW evaluations AS
SELECT
  search.run,
  search.layer,
  mapping.text AS spatial_mapping,
  [search.factors[code + 1] FOR code IN evaluated.ordering] AS ordering,
  [
    {'operand': part.operand, 'positions': evaluated.cuts[part.first : part.last]}
    FOR part IN search.operands
  ] AS cuts,
  evaluated.energy,
  evaluated.latency2 AS latency,
  evaluated.latency0,
  evaluated.latency1,
  evaluated.latency2,
  search.ideal_cycles / evaluated.latency2 AS utilization,
  evaluated.search,
  evaluated.number
FROM evaluation_rows AS evaluated
JOIN searches AS search ON search.id = evaluated.search
JOIN spatial_mappings AS mapping ON mapping.hash = search.spatial_mapping;
COMMENT ON VIEW evaluations IS 'Every mapping that the cost model evaluated';
COMMENT ON COLUMN evaluations.run IS 'runs.id';
COMMENT ON COLUMN evaluations.layer IS 'Name of the layer';
COMMENT ON COLUMN evaluations.spatial_mapping IS 'The spatial mapping on one line';
COMMENT ON COLUMN evaluations.ordering IS 'Temporal loops, innermost first';
COMMENT ON COLUMN evaluations.cuts IS 'Per operand and memory level how many loops lie at or below it';
COMMENT ON COLUMN evaluations.energy IS 'Energy (pJ)';
COMMENT ON COLUMN evaluations.latency IS 'Everything: latency2 (cycles)';
COMMENT ON COLUMN evaluations.latency0 IS 'Computation with stalls (cycles)';
COMMENT ON COLUMN evaluations.latency1 IS 'latency0 and on-loading (cycles)';
COMMENT ON COLUMN evaluations.latency2 IS 'latency1, off-loading and drain (cycles)';
COMMENT ON COLUMN evaluations.utilization IS 'Ideal cycles / latency2';
COMMENT ON COLUMN evaluations.search IS 'searches.id';
COMMENT ON COLUMN evaluations.number IS 'Number within the search';

CREATE VIEW best AS
SELECT
  result.run,
  result.position,
  result.layer,
  result.operator,
  result.macs,
  result.energy,
  result.latency2 AS latency,
  result.utilization,
  mapping.text AS spatial_mapping,
  result.ordering,
  result.evaluations
FROM results AS result
JOIN spatial_mappings AS mapping ON mapping.hash = result.spatial_mapping;
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

CREATE VIEW totals AS
WITH summed AS (
  SELECT
    run,
    count(*) AS layers,
    sum(macs)::BIGINT AS macs,
    sum(energy ORDER BY position) AS energy,
    sum(latency2 ORDER BY position) AS latency,
    sum(ideal_cycles)::BIGINT AS ideal_cycles,
    sum(evaluations)::BIGINT AS evaluations
  FROM results
  GROUP BY run
)
SELECT
  summed.run,
  run.started,
  workload.name AS workload,
  accelerator.name AS accelerator,
  run.objective,
  summed.layers,
  summed.macs,
  summed.energy,
  summed.latency,
  summed.energy * summed.latency AS edp,
  summed.ideal_cycles / summed.latency AS utilization,
  summed.evaluations
FROM summed
JOIN runs AS run ON run.id = summed.run
JOIN workloads AS workload ON workload.hash = run.workload
JOIN accelerators AS accelerator ON accelerator.hash = run.accelerator;
COMMENT ON VIEW totals IS 'The totals over all layers of each finished run';
COMMENT ON COLUMN totals.run IS 'runs.id';
COMMENT ON COLUMN totals.started IS 'When the run started (UTC)';
COMMENT ON COLUMN totals.workload IS 'Name of the workload';
COMMENT ON COLUMN totals.accelerator IS 'Name of the accelerator';
COMMENT ON COLUMN totals.objective IS 'What the run made small';
COMMENT ON COLUMN totals.layers IS 'Number of layers';
COMMENT ON COLUMN totals.macs IS 'Multiply-accumulates of all layers';
COMMENT ON COLUMN totals.energy IS 'Energy of all layers (pJ)';
COMMENT ON COLUMN totals.latency IS 'Latency of all layers, one after the other (cycles)';
COMMENT ON COLUMN totals.edp IS 'energy x latency (pJ x cycles)';
COMMENT ON COLUMN totals.utilization IS 'Ideal cycles / latency';
COMMENT ON COLUMN totals.evaluations IS 'Mappings evaluated';
