-- The schema of a store, version 1: types, tables, then the views and macros that read them.
-- A comment that begins with table.column is a reference, which nestmap db check verifies.

CREATE TABLE store_schema (
  version INTEGER PRIMARY KEY,
  created TIMESTAMP NOT NULL
);
COMMENT ON TABLE store_schema IS 'The version of the schema';
COMMENT ON COLUMN store_schema.version IS 'Number of the version';
COMMENT ON COLUMN store_schema.created IS 'When the store was created (UTC)';

CREATE TYPE run_status AS ENUM ('running', 'done', 'failed', 'interrupted');
CREATE TYPE objective AS ENUM ('energy', 'latency', 'edp');
CREATE TYPE record_mode AS ENUM ('all', 'best', 'none');
CREATE TYPE movement AS ENUM ('rd_to_low', 'wr_by_low', 'rd_to_high', 'wr_by_high');
CREATE TYPE port_kind AS ENUM ('read', 'write', 'read_write');
CREATE TYPE part_kind AS ENUM ('array', 'memory', 'vector_unit');
CREATE TYPE run_kind AS ENUM ('explore', 'stream');
CREATE TYPE core_kind AS ENUM ('compute', 'storage');
CREATE TYPE individual_role AS ENUM ('population', 'front', 'scheduled', 'constraint');
CREATE TYPE transfer_kind AS ENUM ('constant', 'activation', 'eviction', 'result');

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
  json JSON NOT NULL,
  clock_period DOUBLE,
  cores INTEGER DEFAULT 1
);
COMMENT ON TABLE accelerators IS 'Accelerators of one core or of several, one row for each different content';
COMMENT ON COLUMN accelerators.hash IS 'Content hash of the accelerator (32 hex digits)';
COMMENT ON COLUMN accelerators.name IS 'Name of the accelerator';
COMMENT ON COLUMN accelerators.units IS 'Multiply-accumulate units of the array, of all cores together';
COMMENT ON COLUMN accelerators.area IS 'Area of arrays and memories, in the unit of the description';
COMMENT ON COLUMN accelerators.json IS 'The whole model.Accelerator, or model.multicore.MultiCoreAccelerator';
COMMENT ON COLUMN accelerators.clock_period IS 'Clock period (ns); NULL: not known';
COMMENT ON COLUMN accelerators.cores IS 'How many cores it has, with those that only store; 1: a single core';

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
  reason VARCHAR,
  vector_counted BOOLEAN DEFAULT false,
  versions JSON DEFAULT '{}',
  on_chip JSON,
  pareto BOOLEAN DEFAULT false,
  seed BIGINT,
  record record_mode DEFAULT 'all',
  record_limit BIGINT,
  fresh BOOLEAN DEFAULT false,
  cpu_seconds DOUBLE,
  resumed INTEGER DEFAULT 0,
  kind run_kind DEFAULT 'explore',
  name VARCHAR,
  tags VARCHAR[] DEFAULT [],
  process VARCHAR
);
COMMENT ON TABLE runs IS 'Explorations, of one core or of several';
COMMENT ON COLUMN runs.id IS 'The run';
COMMENT ON COLUMN runs.command IS 'What was called';
COMMENT ON COLUMN runs.version IS 'Version of nestmap';
COMMENT ON COLUMN runs.objective IS 'What the run made small; of several cores: what the reported one of its front has least of';
COMMENT ON COLUMN runs.pipeline IS 'The stages and how they are wired';
COMMENT ON COLUMN runs.options IS 'The pipeline.plan.SearchPlan: how it searched';
COMMENT ON COLUMN runs.workload IS 'workloads.hash';
COMMENT ON COLUMN runs.accelerator IS 'accelerators.hash';
COMMENT ON COLUMN runs.constraints IS 'What the user fixed: a model.MappingConstraints, or for several cores a model.core_mapping.CoreMapping';
COMMENT ON COLUMN runs.host IS 'Machine that ran it';
COMMENT ON COLUMN runs.pid IS 'Process that ran it';
COMMENT ON COLUMN runs.started IS 'When it started (UTC)';
COMMENT ON COLUMN runs.ended IS 'When it ended (UTC); unknown while running and where the process was killed';
COMMENT ON COLUMN runs.status IS 'running, done, failed (see reason) or interrupted';
COMMENT ON COLUMN runs.reason IS 'Why it failed or was interrupted';
COMMENT ON COLUMN runs.vector_counted IS 'Whether the totals include the vector operators';
COMMENT ON COLUMN runs.versions IS 'Versions of what computed it: cost model, search, Python, numba, ...';
COMMENT ON COLUMN runs.on_chip IS 'The model.OnChip of a finished run with --keep-on-chip: where tensors stay, and why others do not';
COMMENT ON COLUMN runs.pareto IS 'Whether it looked for energy-latency fronts; its results are the best of these';
COMMENT ON COLUMN runs.seed IS 'Seed of a search that draws random numbers';
COMMENT ON COLUMN runs.record IS 'Which evaluations it keeps: all, the best (no other has less energy and latency) or none';
COMMENT ON COLUMN runs.record_limit IS 'After so many recorded evaluations only the best ones are kept';
COMMENT ON COLUMN runs.fresh IS 'Whether it computed everything anew';
COMMENT ON COLUMN runs.cpu_seconds IS 'Processor time of the process that ran it, all threads (s)';
COMMENT ON COLUMN runs.resumed IS 'How often it was continued after an interruption';
COMMENT ON COLUMN runs.kind IS 'explore: layer by layer on one core; stream: on several cores';
COMMENT ON COLUMN runs.name IS 'Name that the user gave it; NULL: none';
COMMENT ON COLUMN runs.tags IS 'Tags that the user gave it';
COMMENT ON COLUMN runs.process IS 'When that process started, which tells it from later ones of its number; NULL: unknown';

CREATE TABLE vector_results (
  run UUID NOT NULL,
  position INTEGER NOT NULL,
  node VARCHAR NOT NULL,
  operator VARCHAR NOT NULL,
  memory VARCHAR NOT NULL,
  operations BIGINT NOT NULL,
  bits_read BIGINT NOT NULL,
  bits_written BIGINT NOT NULL,
  words_read BIGINT NOT NULL,
  words_written BIGINT NOT NULL,
  energy DOUBLE NOT NULL,
  operation_energy DOUBLE NOT NULL,
  memory_energy DOUBLE NOT NULL,
  latency BIGINT NOT NULL,
  compute_cycles BIGINT NOT NULL,
  traffic_cycles BIGINT NOT NULL,
  static_energy DOUBLE DEFAULT 0.0,
  PRIMARY KEY (run, position)
);
COMMENT ON TABLE vector_results IS 'What each vector operator (pooling, activation, ...) of a finished run costs';
COMMENT ON COLUMN vector_results.run IS 'runs.id';
COMMENT ON COLUMN vector_results.position IS 'Position among the vector operators of the workload, from 0';
COMMENT ON COLUMN vector_results.node IS 'Name of the node, unique in its workload';
COMMENT ON COLUMN vector_results.operator IS 'Operator, such as MaxPool';
COMMENT ON COLUMN vector_results.memory IS 'Name of the memory that it reads from and writes to';
COMMENT ON COLUMN vector_results.operations IS 'Scalar operations';
COMMENT ON COLUMN vector_results.bits_read IS 'Size of all inputs (bit)';
COMMENT ON COLUMN vector_results.bits_written IS 'Size of all outputs (bit)';
COMMENT ON COLUMN vector_results.words_read IS 'Reads of the full width of a port';
COMMENT ON COLUMN vector_results.words_written IS 'Writes of the full width of a port';
COMMENT ON COLUMN vector_results.energy IS 'operation_energy + memory_energy + static_energy (pJ)';
COMMENT ON COLUMN vector_results.operation_energy IS 'Energy of the operations (pJ); 0 without a vector unit';
COMMENT ON COLUMN vector_results.memory_energy IS 'Energy of the traffic (pJ)';
COMMENT ON COLUMN vector_results.latency IS 'The larger one of compute_cycles and traffic_cycles (cycles)';
COMMENT ON COLUMN vector_results.compute_cycles IS 'Cycles of the operations; 0 without a vector unit';
COMMENT ON COLUMN vector_results.traffic_cycles IS 'Cycles of the traffic';
COMMENT ON COLUMN vector_results.static_energy IS 'What leaks while it runs (pJ); 0: not counted';

CREATE TABLE searches (
  id BIGINT PRIMARY KEY,
  key VARCHAR NOT NULL,
  layer VARCHAR NOT NULL,
  content VARCHAR NOT NULL,
  accelerator VARCHAR NOT NULL,
  spatial_mapping VARCHAR NOT NULL,
  constraints JSON NOT NULL,
  reserved JSON NOT NULL,
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
  )[],
  energy_bound DOUBLE,
  latency_bound DOUBLE,
  edp_bound DOUBLE,
  unproven BIGINT DEFAULT 0,
  cut BIGINT DEFAULT 0,
  labels BIGINT DEFAULT 0
);
COMMENT ON TABLE searches IS 'One layer under one spatial mapping, searched in one way: what its evaluations share';
COMMENT ON COLUMN searches.id IS 'Number of the search, different in all stores';
COMMENT ON COLUMN searches.key IS 'Content hash of all that decides what it finds (32 hex digits); empty: of an older nestmap';
COMMENT ON COLUMN searches.layer IS 'Name of the layer that it was done for';
COMMENT ON COLUMN searches.content IS 'layers.hash';
COMMENT ON COLUMN searches.accelerator IS 'accelerators.hash of the memories that the layer uses; that of the run, or less where data stays on chip';
COMMENT ON COLUMN searches.spatial_mapping IS 'spatial_mappings.hash';
COMMENT ON COLUMN searches.constraints IS 'The model.LayerConstraints: what the user fixed for the layer';
COMMENT ON COLUMN searches.reserved IS 'The model.Reserved: what data of other layers takes of memories';
COMMENT ON COLUMN searches.options IS 'How it was searched: the options of its stage';
COMMENT ON COLUMN searches.factors IS 'The different temporal loops; evaluation_rows.ordering counts into them';
COMMENT ON COLUMN searches.operands IS 'Where in evaluation_rows.cuts each operand stands, from 1, both ends included';
COMMENT ON COLUMN searches.code_bits IS 'Bits of a code in evaluation_rows; see the macro unpacked';
COMMENT ON COLUMN searches.ideal_cycles IS 'Cycles at full use of the array';
COMMENT ON COLUMN searches.record IS 'Which of its evaluations are recorded: all, at least the best (of its front), or none';
COMMENT ON COLUMN searches.evaluations IS 'Mappings evaluated, recorded or not; unknown until the search is complete';
COMMENT ON COLUMN searches.front IS 'The evaluations that no other one beats in energy and latency; unknown until the search is complete';
COMMENT ON COLUMN searches.energy_bound IS 'No mapping of its space takes less energy (pJ); NULL: not known';
COMMENT ON COLUMN searches.latency_bound IS 'No mapping of its space takes fewer cycles; NULL: not known';
COMMENT ON COLUMN searches.edp_bound IS 'No mapping of its space has a lower energy x latency (pJ x cycles); NULL: not known';
COMMENT ON COLUMN searches.unproven IS 'Number of searches that a limit ended before they had proven the optimum: 0 or 1';
COMMENT ON COLUMN searches.cut IS 'Number of searches that a limit of time ended, 0 or 1: not reused';
COMMENT ON COLUMN searches.labels IS 'Number of partial mappings that the exact search followed';
CREATE INDEX searches_by_key ON searches (key);

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

CREATE TABLE evaluation_rows (
  search BIGINT NOT NULL,
  number BIGINT NOT NULL,
  ordering UBIGINT[] NOT NULL,
  cuts UBIGINT[] NOT NULL,
  energy DOUBLE NOT NULL,
  latency0 DOUBLE NOT NULL,
  latency1 DOUBLE NOT NULL,
  latency2 DOUBLE NOT NULL
);
COMMENT ON TABLE evaluation_rows IS 'Recorded evaluations, as compact codes; the view evaluations spells them out';
COMMENT ON COLUMN evaluation_rows.search IS 'searches.id';
COMMENT ON COLUMN evaluation_rows.number IS 'Number within the search, from 0 in the order of evaluation';
COMMENT ON COLUMN evaluation_rows.ordering IS 'Temporal loops, innermost first, as packed positions in searches.factors from 0; see the macro spelled_ordering';
COMMENT ON COLUMN evaluation_rows.cuts IS 'Per operand and memory level how many loops lie at or below it, packed; see the macro spelled_cuts';
COMMENT ON COLUMN evaluation_rows.energy IS 'Energy (pJ)';
COMMENT ON COLUMN evaluation_rows.latency0 IS 'Computation with stalls (cycles)';
COMMENT ON COLUMN evaluation_rows.latency1 IS 'latency0 and on-loading (cycles)';
COMMENT ON COLUMN evaluation_rows.latency2 IS 'latency1, off-loading and drain: everything (cycles)';

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
  leakage DOUBLE DEFAULT 0.0,
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
COMMENT ON COLUMN memories.leakage IS 'Power that one instance takes whether or not it is used (mW)';

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
  json JSON NOT NULL,
  static_energy DOUBLE DEFAULT 0.0,
  clock_period DOUBLE,
  dataflows VARCHAR[] NOT NULL
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
COMMENT ON COLUMN cmes.static_energy IS 'What leaks while the layer runs (pJ); 0: not counted';
COMMENT ON COLUMN cmes.clock_period IS 'Clock period (ns); NULL: not known';
COMMENT ON COLUMN cmes.dataflows IS 'Dataflows that the mapping has in memories of which the array has several: weight_stationary, ...';

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
  busy BIGINT,
  PRIMARY KEY (cme, memory, port)
);
COMMENT ON TABLE port_stalls IS 'For how long each port makes the array wait, of every reported evaluation';
COMMENT ON COLUMN port_stalls.cme IS 'cmes.hash';
COMMENT ON COLUMN port_stalls.memory IS 'Name of the memory';
COMMENT ON COLUMN port_stalls.port IS 'Name of the port';
COMMENT ON COLUMN port_stalls.stall IS 'Stall, or slack where negative (cycles)';
COMMENT ON COLUMN port_stalls.busy IS 'For how long the port moves data (cycles); NULL: recorded before this was counted';

CREATE TABLE results (
  run UUID NOT NULL,
  position INTEGER NOT NULL,
  layer VARCHAR NOT NULL,
  cme VARCHAR NOT NULL,
  evaluations BIGINT NOT NULL,
  pruned BIGINT NOT NULL,
  infeasible STRUCT(reason VARCHAR, count BIGINT)[] NOT NULL,
  repeats VARCHAR,
  bound DOUBLE,
  gap DOUBLE,
  energy_bound DOUBLE,
  latency_bound DOUBLE,
  edp_bound DOUBLE,
  unproven BIGINT DEFAULT 0,
  cut BIGINT DEFAULT 0,
  labels BIGINT DEFAULT 0,
  front_gap DOUBLE,
  cpu_seconds DOUBLE,
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
COMMENT ON COLUMN results.bound IS 'No mapping of the space searched has a lower objective of the run (pJ, cycles or pJ x cycles); NULL: not known';
COMMENT ON COLUMN results.gap IS 'Share by which the optimum may be below this result; 0: it is optimal; NULL: not known';
COMMENT ON COLUMN results.energy_bound IS 'No mapping of the space searched takes less energy (pJ); NULL: not known';
COMMENT ON COLUMN results.latency_bound IS 'No mapping of the space searched takes fewer cycles; NULL: not known';
COMMENT ON COLUMN results.edp_bound IS 'No mapping of the space searched has a lower energy x latency (pJ x cycles); NULL: not known';
COMMENT ON COLUMN results.unproven IS 'Number of its searches that a limit ended before they had proven the optimum';
COMMENT ON COLUMN results.cut IS 'Number of its searches that a limit of time ended';
COMMENT ON COLUMN results.labels IS 'Number of partial mappings that its exact searches followed';
COMMENT ON COLUMN results.front_gap IS 'Of a run that looks for fronts: every mapping of the layer has a point on the front whose energy and latency are at most this share above its own; NULL: not known';
COMMENT ON COLUMN results.cpu_seconds IS 'Processor time that the run spent on the layer, all threads (s); NULL: it repeats an earlier one, or the run looks for fronts';

CREATE TABLE memory_costs (
  hash VARCHAR PRIMARY KEY,
  tool VARCHAR NOT NULL,
  size BIGINT NOT NULL,
  width INTEGER NOT NULL,
  read_ports INTEGER NOT NULL,
  write_ports INTEGER NOT NULL,
  read_write_ports INTEGER NOT NULL,
  technology DOUBLE NOT NULL,
  read_energy DOUBLE NOT NULL,
  write_energy DOUBLE NOT NULL,
  area DOUBLE NOT NULL,
  leakage DOUBLE NOT NULL
);
COMMENT ON TABLE memory_costs IS 'What a tool such as CACTI has said of a memory: it is not asked again';
COMMENT ON COLUMN memory_costs.hash IS 'Content hash of the memory and the tool';
COMMENT ON COLUMN memory_costs.tool IS 'Which tool: its name, version and settings';
COMMENT ON COLUMN memory_costs.size IS 'Capacity (bit)';
COMMENT ON COLUMN memory_costs.width IS 'What an access reads or writes (bit)';
COMMENT ON COLUMN memory_costs.read_ports IS 'Number of ports that only read';
COMMENT ON COLUMN memory_costs.write_ports IS 'Number of ports that only write';
COMMENT ON COLUMN memory_costs.read_write_ports IS 'Number of ports that do both';
COMMENT ON COLUMN memory_costs.technology IS 'Node (nm)';
COMMENT ON COLUMN memory_costs.read_energy IS 'Energy of a read of the full width (pJ)';
COMMENT ON COLUMN memory_costs.write_energy IS 'Energy of a write of the full width (pJ)';
COMMENT ON COLUMN memory_costs.area IS 'Area (mm2)';
COMMENT ON COLUMN memory_costs.leakage IS 'Power that it takes whether or not it is used (mW)';

CREATE TABLE accelerator_areas (
  accelerator VARCHAR NOT NULL,
  position INTEGER NOT NULL,
  part VARCHAR NOT NULL,
  kind part_kind NOT NULL,
  area DOUBLE NOT NULL,
  PRIMARY KEY (accelerator, position)
);
COMMENT ON TABLE accelerator_areas IS 'What the area of an accelerator consists of';
COMMENT ON COLUMN accelerator_areas.accelerator IS 'accelerators.hash';
COMMENT ON COLUMN accelerator_areas.position IS 'Place among its parts, from 0: array, memories, vector unit';
COMMENT ON COLUMN accelerator_areas.part IS 'Name: of a memory, of a part of an IMC array, array or vector unit';
COMMENT ON COLUMN accelerator_areas.kind IS 'What it belongs to';
COMMENT ON COLUMN accelerator_areas.area IS 'Area of all its instances, in the unit of the description (mm2 in the bundled ones)';

CREATE TABLE array_energies (
  cme VARCHAR NOT NULL,
  part VARCHAR NOT NULL,
  energy DOUBLE NOT NULL,
  PRIMARY KEY (cme, part)
);
COMMENT ON TABLE array_energies IS 'What the parts of an IMC array spend on a layer: together the energy of its array';
COMMENT ON COLUMN array_energies.cme IS 'cmes.hash';
COMMENT ON COLUMN array_energies.part IS 'Converters, multipliers, adders and the like';
COMMENT ON COLUMN array_energies.energy IS 'Energy (pJ)';

CREATE TABLE static_energies (
  cme VARCHAR NOT NULL,
  position INTEGER NOT NULL,
  part VARCHAR NOT NULL,
  kind part_kind NOT NULL,
  power DOUBLE NOT NULL,
  energy DOUBLE NOT NULL,
  PRIMARY KEY (cme, position)
);
COMMENT ON TABLE static_energies IS 'What leaks while a layer runs, where that is counted';
COMMENT ON COLUMN static_energies.cme IS 'cmes.hash';
COMMENT ON COLUMN static_energies.position IS 'Place among the parts, from 0';
COMMENT ON COLUMN static_energies.part IS 'Name of a memory (all instances), or array';
COMMENT ON COLUMN static_energies.kind IS 'What it belongs to';
COMMENT ON COLUMN static_energies.power IS 'Power (mW)';
COMMENT ON COLUMN static_energies.energy IS 'Power times clock period and latency (pJ)';

CREATE TABLE cores (
  accelerator VARCHAR NOT NULL,
  core INTEGER NOT NULL,
  name VARCHAR NOT NULL,
  kind core_kind NOT NULL,
  offchip BOOLEAN NOT NULL,
  operators VARCHAR[] NOT NULL,
  units BIGINT NOT NULL,
  PRIMARY KEY (accelerator, core)
);
COMMENT ON TABLE cores IS 'The cores of machines of several cores';
COMMENT ON COLUMN cores.accelerator IS 'accelerators.hash';
COMMENT ON COLUMN cores.core IS 'Number of the core';
COMMENT ON COLUMN cores.name IS 'Its name';
COMMENT ON COLUMN cores.kind IS 'compute, or storage: it has a memory only';
COMMENT ON COLUMN cores.offchip IS 'Whether it is the memory off the chip';
COMMENT ON COLUMN cores.operators IS 'The operators that it runs; none: all that layers have';
COMMENT ON COLUMN cores.units IS 'Multiply-accumulate units of its array';

CREATE TABLE homes (
  accelerator VARCHAR NOT NULL,
  memory INTEGER NOT NULL,
  name VARCHAR NOT NULL,
  cores INTEGER[] NOT NULL,
  size BIGINT NOT NULL,
  PRIMARY KEY (accelerator, memory)
);
COMMENT ON TABLE homes IS 'The outermost memories of cores, where tensors live; one that cores share is one row';
COMMENT ON COLUMN homes.accelerator IS 'accelerators.hash';
COMMENT ON COLUMN homes.memory IS 'Number of the memory in its machine, from 0';
COMMENT ON COLUMN homes.name IS 'Its name';
COMMENT ON COLUMN homes.cores IS 'The cores that it belongs to';
COMMENT ON COLUMN homes.size IS 'Capacity (bit)';

CREATE TABLE wires (
  accelerator VARCHAR NOT NULL,
  wire INTEGER NOT NULL,
  name VARCHAR NOT NULL,
  bandwidth BIGINT,
  energy_per_bit DOUBLE NOT NULL,
  energy_per_cycle DOUBLE NOT NULL,
  PRIMARY KEY (accelerator, wire)
);
COMMENT ON TABLE wires IS 'The links and buses between cores: each for one transfer at a time';
COMMENT ON COLUMN wires.accelerator IS 'accelerators.hash';
COMMENT ON COLUMN wires.wire IS 'Number of the wire in its machine, from 0';
COMMENT ON COLUMN wires.name IS 'Which cores it connects';
COMMENT ON COLUMN wires.bandwidth IS 'Rate (bit/cycle); NULL: transfers take no time';
COMMENT ON COLUMN wires.energy_per_bit IS 'Energy of a bit (pJ)';
COMMENT ON COLUMN wires.energy_per_cycle IS 'Energy of a busy cycle (pJ)';

CREATE TABLE paths (
  accelerator VARCHAR NOT NULL,
  sender INTEGER NOT NULL,
  receiver INTEGER NOT NULL,
  wires INTEGER[] NOT NULL,
  PRIMARY KEY (accelerator, sender, receiver)
);
COMMENT ON TABLE paths IS 'Which wires lead from one core to another: a transfer takes them all at the same time';
COMMENT ON COLUMN paths.accelerator IS 'accelerators.hash';
COMMENT ON COLUMN paths.sender IS 'Number of the core at its beginning';
COMMENT ON COLUMN paths.receiver IS 'Number of the core at its end';
COMMENT ON COLUMN paths.wires IS 'Numbers of the wires, in order; none: the two share a memory';

CREATE TABLE core_costs (
  hash VARCHAR PRIMARY KEY,
  runtime BIGINT,
  onchip_energy DOUBLE,
  offchip_energy DOUBLE,
  streamed VARCHAR[],
  read_rate BIGINT,
  write_rate BIGINT,
  cme VARCHAR
);
COMMENT ON TABLE core_costs IS 'What a kind of computation node costs on a core: it is not searched again';
COMMENT ON COLUMN core_costs.hash IS 'Content hash of all that decides it: node, core, way of searching, versions';
COMMENT ON COLUMN core_costs.runtime IS 'From its start, when its inputs are there, to its end (cycles); NULL: it cannot run there';
COMMENT ON COLUMN core_costs.onchip_energy IS 'Energy in the core (pJ)';
COMMENT ON COLUMN core_costs.offchip_energy IS 'Energy in the memory off the chip, for operands that are streamed (pJ)';
COMMENT ON COLUMN core_costs.streamed IS 'Operands that are too large for the core: they stream while the node runs';
COMMENT ON COLUMN core_costs.read_rate IS 'What is read off the chip while it runs (bit/cycle)';
COMMENT ON COLUMN core_costs.write_rate IS 'What is written off the chip while it runs (bit/cycle)';
COMMENT ON COLUMN core_costs.cme IS 'cmes.hash: the mapping behind it, if there is one';

CREATE TABLE run_costs (
  run UUID NOT NULL,
  cost VARCHAR NOT NULL,
  recalled BOOLEAN NOT NULL,
  PRIMARY KEY (run, cost)
);
COMMENT ON TABLE run_costs IS 'The costs of nodes that a run of several cores has used';
COMMENT ON COLUMN run_costs.run IS 'runs.id';
COMMENT ON COLUMN run_costs.cost IS 'core_costs.hash';
COMMENT ON COLUMN run_costs.recalled IS 'Whether it was in the store already';

CREATE TABLE streams (
  run UUID PRIMARY KEY,
  nodes BIGINT NOT NULL,
  edges BIGINT NOT NULL,
  kinds BIGINT NOT NULL,
  genes BIGINT NOT NULL,
  free_genes BIGINT NOT NULL,
  bound BIGINT,
  proven BOOLEAN,
  proof BIGINT
);
COMMENT ON TABLE streams IS 'What runs of several cores are about, once the network is split and its nodes are costed';
COMMENT ON COLUMN streams.run IS 'runs.id';
COMMENT ON COLUMN streams.nodes IS 'Computation nodes';
COMMENT ON COLUMN streams.edges IS 'Edges between them';
COMMENT ON COLUMN streams.kinds IS 'Different nodes: those of one kind cost the same on the same core';
COMMENT ON COLUMN streams.genes IS 'Groups of nodes, each of which runs on one core';
COMMENT ON COLUMN streams.free_genes IS 'Those of them with more than one core to choose from';
COMMENT ON COLUMN streams.bound IS 'No schedule is shorter (cycles); NULL: nobody has looked for a bound';
COMMENT ON COLUMN streams.proven IS 'Whether no allocation has a shorter schedule than the one that the search by constraints has found';
COMMENT ON COLUMN streams.proof IS 'Allocations that the search by constraints has scheduled';

CREATE TABLE stream_layers (
  run UUID NOT NULL,
  layer INTEGER NOT NULL,
  name VARCHAR NOT NULL,
  operator VARCHAR NOT NULL,
  operands VARCHAR[] NOT NULL,
  nodes BIGINT NOT NULL,
  PRIMARY KEY (run, layer)
);
COMMENT ON TABLE stream_layers IS 'The layers of a run of several cores that are split into computation nodes';
COMMENT ON COLUMN stream_layers.run IS 'runs.id';
COMMENT ON COLUMN stream_layers.layer IS 'Number of the layer: its place in the network';
COMMENT ON COLUMN stream_layers.name IS 'Its name';
COMMENT ON COLUMN stream_layers.operator IS 'Operator, such as Conv';
COMMENT ON COLUMN stream_layers.operands IS 'What it writes, then what it reads';
COMMENT ON COLUMN stream_layers.nodes IS 'Its computation nodes';

CREATE TABLE stream_costs (
  run UUID NOT NULL,
  kind INTEGER NOT NULL,
  core INTEGER NOT NULL,
  layer INTEGER NOT NULL,
  nodes BIGINT NOT NULL,
  runtime BIGINT,
  onchip_energy DOUBLE,
  offchip_energy DOUBLE,
  streamed BIGINT NOT NULL,
  read_rate BIGINT NOT NULL,
  write_rate BIGINT NOT NULL,
  PRIMARY KEY (run, kind, core)
);
COMMENT ON TABLE stream_costs IS 'What each kind of computation node of a run costs on each core';
COMMENT ON COLUMN stream_costs.run IS 'runs.id';
COMMENT ON COLUMN stream_costs.kind IS 'Number of the kind, from 0';
COMMENT ON COLUMN stream_costs.core IS 'Number of the core';
COMMENT ON COLUMN stream_costs.layer IS 'The layer of the first node of this kind: stream_layers.layer of the run';
COMMENT ON COLUMN stream_costs.nodes IS 'How many nodes are of this kind';
COMMENT ON COLUMN stream_costs.runtime IS 'From start to end (cycles); NULL: they cannot run there';
COMMENT ON COLUMN stream_costs.onchip_energy IS 'Energy in the core (pJ)';
COMMENT ON COLUMN stream_costs.offchip_energy IS 'Energy in the memory off the chip, for operands that are streamed (pJ)';
COMMENT ON COLUMN stream_costs.streamed IS 'Which operands are streamed, as bits: 1 the output, 2 the first input, 4 the second, ...';
COMMENT ON COLUMN stream_costs.read_rate IS 'What is read off the chip while one runs (bit/cycle)';
COMMENT ON COLUMN stream_costs.write_rate IS 'What is written off the chip while one runs (bit/cycle)';

CREATE TABLE generations (
  run UUID NOT NULL,
  number INTEGER NOT NULL,
  evaluations BIGINT NOT NULL,
  latency BIGINT,
  energy DOUBLE,
  edp DOUBLE,
  memory BIGINT,
  front INTEGER NOT NULL,
  improved INTEGER NOT NULL,
  exhaustive BOOLEAN NOT NULL,
  PRIMARY KEY (run, number)
);
COMMENT ON TABLE generations IS 'The generations of the genetic search of runs of several cores';
COMMENT ON COLUMN generations.run IS 'runs.id';
COMMENT ON COLUMN generations.number IS 'Number, from 0: the initial population';
COMMENT ON COLUMN generations.evaluations IS 'Different allocations scheduled up to then';
COMMENT ON COLUMN generations.latency IS 'The shortest schedule of its front (cycles)';
COMMENT ON COLUMN generations.energy IS 'The least energy of its front (pJ)';
COMMENT ON COLUMN generations.edp IS 'The least product of both of its front (pJ x cycles)';
COMMENT ON COLUMN generations.memory IS 'The least peak of all memories on the chip together, of its front (bit)';
COMMENT ON COLUMN generations.front IS 'How many allocations no other one beats up to then';
COMMENT ON COLUMN generations.improved IS 'The generation in which its front got better for the last time';
COMMENT ON COLUMN generations.exhaustive IS 'Whether all allocations are gone through, since there are so few';

CREATE TABLE individuals (
  run UUID NOT NULL,
  generation INTEGER NOT NULL,
  role individual_role NOT NULL,
  position INTEGER NOT NULL,
  allocation INTEGER[] NOT NULL,
  latency BIGINT,
  energy DOUBLE,
  memory BIGINT,
  PRIMARY KEY (run, generation, role, position)
);
COMMENT ON TABLE individuals IS 'Allocations of runs of several cores: populations, fronts, and what the search by constraints has found';
COMMENT ON COLUMN individuals.run IS 'runs.id';
COMMENT ON COLUMN individuals.generation IS 'generations.number of the run; 0 for what the search by constraints has found';
COMMENT ON COLUMN individuals.role IS 'population: the next generation descends from it; front: none beats it up to then; scheduled: new in this generation; constraint: found by constraints';
COMMENT ON COLUMN individuals.position IS 'Place among those, from 0';
COMMENT ON COLUMN individuals.allocation IS 'The core of each gene';
COMMENT ON COLUMN individuals.latency IS 'Length of its schedule (cycles); NULL: it cannot be scheduled';
COMMENT ON COLUMN individuals.energy IS 'Energy of its schedule (pJ)';
COMMENT ON COLUMN individuals.memory IS 'Peaks of the memories on the chip, added up (bit)';

CREATE TABLE schedules (
  run UUID PRIMARY KEY,
  allocation INTEGER[] NOT NULL,
  latency BIGINT NOT NULL,
  energy DOUBLE NOT NULL
);
COMMENT ON TABLE schedules IS 'The schedule that each finished run of several cores reports';
COMMENT ON COLUMN schedules.run IS 'runs.id';
COMMENT ON COLUMN schedules.allocation IS 'The core of each gene';
COMMENT ON COLUMN schedules.latency IS 'From the start to the last end (cycles)';
COMMENT ON COLUMN schedules.energy IS 'Energy of everything (pJ)';

CREATE TABLE schedule_energies (
  run UUID NOT NULL,
  position INTEGER NOT NULL,
  part VARCHAR NOT NULL,
  energy DOUBLE NOT NULL,
  PRIMARY KEY (run, position)
);
COMMENT ON TABLE schedule_energies IS 'What the energy of a reported schedule is spent for: together all of it';
COMMENT ON COLUMN schedule_energies.run IS 'runs.id';
COMMENT ON COLUMN schedule_energies.position IS 'Place among the parts, from 0';
COMMENT ON COLUMN schedule_energies.part IS 'computation, streaming, or links and memory for constants, activations, evictions, results';
COMMENT ON COLUMN schedule_energies.energy IS 'Energy (pJ)';

CREATE TABLE schedule_nodes (
  run UUID NOT NULL,
  node BIGINT NOT NULL,
  layer INTEGER NOT NULL,
  number BIGINT NOT NULL,
  gene INTEGER NOT NULL,
  kind INTEGER NOT NULL,
  core INTEGER NOT NULL,
  begins BIGINT NOT NULL,
  ends BIGINT NOT NULL,
  PRIMARY KEY (run, node)
);
COMMENT ON TABLE schedule_nodes IS 'The computation nodes of a reported schedule';
COMMENT ON COLUMN schedule_nodes.run IS 'runs.id';
COMMENT ON COLUMN schedule_nodes.node IS 'Place of the node in the network, from 0';
COMMENT ON COLUMN schedule_nodes.layer IS 'Its layer: stream_layers.layer of the run';
COMMENT ON COLUMN schedule_nodes.number IS 'Place of the node in its layer, from 0';
COMMENT ON COLUMN schedule_nodes.gene IS 'Its group: place in the allocation, from 0';
COMMENT ON COLUMN schedule_nodes.kind IS 'Its kind: stream_costs.kind of the run';
COMMENT ON COLUMN schedule_nodes.core IS 'Number of the core that runs it';
COMMENT ON COLUMN schedule_nodes.begins IS 'When it begins (cycle)';
COMMENT ON COLUMN schedule_nodes.ends IS 'When it ends (cycle)';

CREATE TABLE schedule_tensors (
  run UUID NOT NULL,
  tensor BIGINT NOT NULL,
  node BIGINT NOT NULL,
  operand INTEGER NOT NULL,
  bits BIGINT NOT NULL,
  PRIMARY KEY (run, tensor)
);
COMMENT ON TABLE schedule_tensors IS 'What is held and sent in a reported schedule: outputs of nodes, and constants';
COMMENT ON COLUMN schedule_tensors.run IS 'runs.id';
COMMENT ON COLUMN schedule_tensors.tensor IS 'Number of the tensor, from 0';
COMMENT ON COLUMN schedule_tensors.node IS 'The node that writes it; of a constant the first one that reads it';
COMMENT ON COLUMN schedule_tensors.operand IS 'Place in operands of its layer, from 0: the output, then the inputs';
COMMENT ON COLUMN schedule_tensors.bits IS 'Its size (bit)';

CREATE TABLE schedule_transfers (
  run UUID NOT NULL,
  transfer BIGINT NOT NULL,
  tensor BIGINT NOT NULL,
  sender INTEGER NOT NULL,
  receiver INTEGER NOT NULL,
  sending INTEGER NOT NULL,
  receiving INTEGER NOT NULL,
  begins BIGINT NOT NULL,
  ends BIGINT NOT NULL,
  kind transfer_kind NOT NULL,
  node BIGINT NOT NULL,
  link_energy DOUBLE NOT NULL,
  memory_energy DOUBLE NOT NULL,
  PRIMARY KEY (run, transfer)
);
COMMENT ON TABLE schedule_transfers IS 'Tensors that are sent in a reported schedule';
COMMENT ON COLUMN schedule_transfers.run IS 'runs.id';
COMMENT ON COLUMN schedule_transfers.transfer IS 'Number of the transfer, from 0 in the order in which they were planned';
COMMENT ON COLUMN schedule_transfers.tensor IS 'What is sent: schedule_tensors.tensor of the run';
COMMENT ON COLUMN schedule_transfers.sender IS 'From which memory: homes.memory of the machine';
COMMENT ON COLUMN schedule_transfers.receiver IS 'To which memory: homes.memory of the machine';
COMMENT ON COLUMN schedule_transfers.sending IS 'Number of the core at the beginning of its path';
COMMENT ON COLUMN schedule_transfers.receiving IS 'Number of the core at the end of its path';
COMMENT ON COLUMN schedule_transfers.begins IS 'When it takes the wires (cycle)';
COMMENT ON COLUMN schedule_transfers.ends IS 'When it leaves them (cycle)';
COMMENT ON COLUMN schedule_transfers.kind IS 'Why: a constant (or what was evicted) that is read, an activation that another core reads, room that is made, a result of the network';
COMMENT ON COLUMN schedule_transfers.node IS 'For which node';
COMMENT ON COLUMN schedule_transfers.link_energy IS 'Energy on the wires (pJ)';
COMMENT ON COLUMN schedule_transfers.memory_energy IS 'Energy of reading at one end and writing at the other (pJ)';

CREATE TABLE schedule_streams (
  run UUID NOT NULL,
  stream BIGINT NOT NULL,
  node BIGINT NOT NULL,
  sending INTEGER NOT NULL,
  receiving INTEGER NOT NULL,
  begins BIGINT NOT NULL,
  ends BIGINT NOT NULL,
  rate BIGINT NOT NULL,
  link_energy DOUBLE NOT NULL,
  PRIMARY KEY (run, stream)
);
COMMENT ON TABLE schedule_streams IS 'What streams between a core and the memory off the chip while a node runs';
COMMENT ON COLUMN schedule_streams.run IS 'runs.id';
COMMENT ON COLUMN schedule_streams.stream IS 'Number, from 0';
COMMENT ON COLUMN schedule_streams.node IS 'The node';
COMMENT ON COLUMN schedule_streams.sending IS 'Number of the core at the beginning of its path';
COMMENT ON COLUMN schedule_streams.receiving IS 'Number of the core at the end of its path';
COMMENT ON COLUMN schedule_streams.begins IS 'When it begins (cycle)';
COMMENT ON COLUMN schedule_streams.ends IS 'When it ends (cycle)';
COMMENT ON COLUMN schedule_streams.rate IS 'Rate (bit/cycle)';
COMMENT ON COLUMN schedule_streams.link_energy IS 'Energy on the wires (pJ)';

CREATE TABLE schedule_stays (
  run UUID NOT NULL,
  stay BIGINT NOT NULL,
  tensor BIGINT NOT NULL,
  memory INTEGER NOT NULL,
  since BIGINT NOT NULL,
  available BIGINT NOT NULL,
  until BIGINT,
  PRIMARY KEY (run, stay)
);
COMMENT ON TABLE schedule_stays IS 'How long tensors are in which memory in a reported schedule';
COMMENT ON COLUMN schedule_stays.run IS 'runs.id';
COMMENT ON COLUMN schedule_stays.stay IS 'Number, from 0';
COMMENT ON COLUMN schedule_stays.tensor IS 'What is there: schedule_tensors.tensor of the run';
COMMENT ON COLUMN schedule_stays.memory IS 'Where: homes.memory of the machine';
COMMENT ON COLUMN schedule_stays.since IS 'From when on it takes room (cycle)';
COMMENT ON COLUMN schedule_stays.available IS 'From when on it can be read (cycle)';
COMMENT ON COLUMN schedule_stays.until IS 'Until when it takes room (cycle); NULL: to the end';

CREATE TABLE schedule_memories (
  run UUID NOT NULL,
  memory INTEGER NOT NULL,
  peak BIGINT NOT NULL,
  PRIMARY KEY (run, memory)
);
COMMENT ON TABLE schedule_memories IS 'The most that memories hold in a reported schedule';
COMMENT ON COLUMN schedule_memories.run IS 'runs.id';
COMMENT ON COLUMN schedule_memories.memory IS 'Which memory: homes.memory of the machine';
COMMENT ON COLUMN schedule_memories.peak IS 'The most bits that it holds at any time';

CREATE TABLE explored_layers (
  run UUID NOT NULL,
  first INTEGER NOT NULL,
  last INTEGER NOT NULL,
  method VARCHAR NOT NULL,
  problem VARCHAR NOT NULL,
  search BIGINT NOT NULL,
  statistics VARCHAR NOT NULL,
  PRIMARY KEY (run, first)
);
COMMENT ON TABLE explored_layers IS 'The layers that finished runs explored, without repetitions: a later run reuses their results';
COMMENT ON COLUMN explored_layers.run IS 'runs.id';
COMMENT ON COLUMN explored_layers.first IS 'Position of its first search in the run';
COMMENT ON COLUMN explored_layers.last IS 'Position of its last search in the run';
COMMENT ON COLUMN explored_layers.method IS 'Content hash of accelerator, options of the exploration and versions';
COMMENT ON COLUMN explored_layers.problem IS 'Content hash of layer and constraints';
COMMENT ON COLUMN explored_layers.search IS 'searches.id: the search that found the best mapping';
COMMENT ON COLUMN explored_layers.statistics IS 'model.SearchStatistics of all its searches and of what was pruned, as JSON';

CREATE TABLE sweeps (
  hash VARCHAR PRIMARY KEY,
  name VARCHAR NOT NULL,
  started TIMESTAMP NOT NULL,
  command VARCHAR NOT NULL,
  version VARCHAR NOT NULL,
  mapped_for VARCHAR[] NOT NULL,
  objectives VARCHAR[] NOT NULL,
  aggregate VARCHAR NOT NULL,
  methods VARCHAR[] NOT NULL,
  question JSON NOT NULL,
  most BIGINT NOT NULL,
  designs BIGINT NOT NULL,
  rejected BIGINT,
  front BIGINT[] NOT NULL
);
COMMENT ON TABLE sweeps IS 'Sweeps over the designs of accelerators';
COMMENT ON COLUMN sweeps.hash IS 'Content hash of space, networks, options and versions: all that determines the designs and their figures';
COMMENT ON COLUMN sweeps.name IS 'Name of the design space';
COMMENT ON COLUMN sweeps.started IS 'When it was started first (UTC)';
COMMENT ON COLUMN sweeps.command IS 'Command line or call';
COMMENT ON COLUMN sweeps.version IS 'Version of nestmap';
COMMENT ON COLUMN sweeps.mapped_for IS 'What each design is mapped for in turn: energy, latency, edp';
COMMENT ON COLUMN sweeps.objectives IS 'What the front of designs makes small: energy, latency, edp, area, or an expression by its name or text';
COMMENT ON COLUMN sweeps.aggregate IS 'Whether the figures of a design are those of all networks (sum) or of one (worst)';
COMMENT ON COLUMN sweeps.methods IS 'Of each network, for each of mapped_for in turn: content hash of network, constraints, options and versions. With equal accelerators, equal figures';
COMMENT ON COLUMN sweeps.question IS 'Space, networks and options, from which the sweep goes on';
COMMENT ON COLUMN sweeps.most IS 'Number of designs to explore, at most';
COMMENT ON COLUMN sweeps.designs IS 'Number of designs explored';
COMMENT ON COLUMN sweeps.rejected IS 'Number of designs tried that do not meet the constraints; NULL: the sweep is not complete';
COMMENT ON COLUMN sweeps.front IS 'Positions of the mapped designs that no other one dominates, by ascending objectives';

CREATE TABLE sweep_designs (
  sweep VARCHAR NOT NULL,
  position BIGINT NOT NULL,
  number DECIMAL(38, 0) NOT NULL,
  parameters JSON NOT NULL,
  mapped_for VARCHAR NOT NULL,
  accelerator VARCHAR,
  area DOUBLE,
  energy DOUBLE,
  latency DOUBLE,
  edp DOUBLE,
  reason VARCHAR,
  networks STRUCT(network VARCHAR, weight DOUBLE, energy DOUBLE, latency DOUBLE, gap DOUBLE, cut BOOLEAN)[] NOT NULL,
  objective_values DOUBLE[]
);
COMMENT ON TABLE sweep_designs IS 'The designs that sweeps have explored: a row for each design and what it is mapped for';
COMMENT ON COLUMN sweep_designs.sweep IS 'sweeps.hash';
COMMENT ON COLUMN sweep_designs.position IS 'Position in the sweep, from 0';
COMMENT ON COLUMN sweep_designs.number IS 'Number of the design in its space';
COMMENT ON COLUMN sweep_designs.parameters IS 'Values of the parameters by name';
COMMENT ON COLUMN sweep_designs.mapped_for IS 'What the mapping of each layer, or the schedule of each network, makes small: energy, latency, edp';
COMMENT ON COLUMN sweep_designs.accelerator IS 'Content hash of the accelerator; NULL: its description is refused';
COMMENT ON COLUMN sweep_designs.area IS 'Area, in the unit of the description; NULL: the description is refused';
COMMENT ON COLUMN sweep_designs.energy IS 'Energy (pJ) of the networks: sum, or the worst; NULL: infeasible';
COMMENT ON COLUMN sweep_designs.latency IS 'Latency (cycles) of the networks: sum, or the worst; NULL: infeasible';
COMMENT ON COLUMN sweep_designs.edp IS 'Energy-delay product (pJ x cycles) of the networks; NULL: infeasible';
COMMENT ON COLUMN sweep_designs.reason IS 'Why the design has no figures, or an objective no value; NULL: they have';
COMMENT ON COLUMN sweep_designs.networks IS 'What each network costs once: energy (pJ), latency (cycles), the share by which the optimum may be below (gap), and whether a limit of time ended a search (cut)';
COMMENT ON COLUMN sweep_designs.objective_values IS 'Values of the objectives of the sweep, in their order; NULL: infeasible';

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

CREATE MACRO objective_of(objective, energy, latency) AS
CASE objective::VARCHAR WHEN 'energy' THEN energy WHEN 'latency' THEN latency ELSE energy * latency END;
COMMENT ON MACRO objective_of IS 'What a run with this objective makes small (pJ, cycles or pJ x cycles)';

CREATE MACRO ended_by(unproven, cut) AS CASE WHEN cut > 0 THEN 'time' WHEN unproven > 0 THEN 'work' END;
COMMENT ON MACRO ended_by IS 'The limit that ended a search, given its counts in searches or results: work or time; NULL: none';

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
    'counting', coalesce(accelerator.json->>'counting', 'exact'),
    'options', explored.options, 'constraints', explored.constraints
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

CREATE MACRO on_chip(run) AS TABLE
WITH kept AS (
  SELECT unnest(from_json(explored.on_chip->'tensors', '[{
    "node": "VARCHAR", "operand": "VARCHAR", "memory": "VARCHAR", "bits": "BIGINT",
    "reason": "VARCHAR"
  }]')) AS tensor
  FROM runs AS explored WHERE explored.id = run
)
SELECT unnest(kept.tensor) FROM kept;
COMMENT ON MACRO TABLE on_chip IS 'With --keep-on-chip: the memory in which what each node writes stays, its bits, and why if that is the outermost memory';

CREATE MACRO segments(run) AS TABLE
WITH fused AS (
  SELECT unnest(from_json(explored.on_chip->'segments', '[{
    "nodes": ["VARCHAR"], "home": "VARCHAR", "residence": "VARCHAR", "staged": ["VARCHAR"],
    "axes": [{"dimension": "VARCHAR", "size": "BIGINT", "tiles": "BIGINT", "retained": "BOOLEAN"}],
    "energy": "DOUBLE", "latency": "DOUBLE"
  }]')) AS segment
  FROM runs AS explored WHERE explored.id = run
)
SELECT
  segment.nodes[1] AS "first", segment.nodes[-1] AS "last", len(segment.nodes) AS nodes,
  segment.axes, segment.home, segment.residence, segment.staged, segment.energy, segment.latency
FROM fused;
COMMENT ON MACRO TABLE segments IS 'With --fuse: the nodes that run together, the tiles along each axis, and the memories of what is between them and of their weights; pJ and cycles';

CREATE MACRO areas(run) AS TABLE
SELECT part.kind, part.part, part.area, part.area / nullif(accelerator.area, 0) AS share
FROM runs AS explored
JOIN accelerators AS accelerator ON accelerator.hash = explored.accelerator
JOIN accelerator_areas AS part ON part.accelerator = accelerator.hash
WHERE explored.id = run
ORDER BY part.position;
COMMENT ON MACRO TABLE areas IS 'What the area of the accelerator consists of, and the share of each part';

CREATE MACRO energy_by_part(run) AS TABLE
WITH spent AS (
  SELECT result.position, 'array' AS kind, part.part, part.energy
  FROM results AS result JOIN array_energies AS part ON part.cme = result.cme
  WHERE result.run = run
  UNION ALL
  SELECT result.position, 'array' AS kind, 'array' AS part, cme.mac_energy AS energy
  FROM results AS result JOIN cmes AS cme ON cme.hash = result.cme
  WHERE result.run = run
    AND NOT EXISTS (SELECT 1 FROM array_energies AS part WHERE part.cme = result.cme)
  UNION ALL
  SELECT result.position, 'memory' AS kind, part.memory AS part, part.energy
  FROM results AS result JOIN breakdowns AS part ON part.cme = result.cme
  WHERE result.run = run
  UNION ALL
  SELECT result.position, 'leakage' AS kind, part.part, part.energy
  FROM results AS result JOIN static_energies AS part ON part.cme = result.cme
  WHERE result.run = run
),
added AS (
  SELECT spent.kind, spent.part, sum(spent.energy ORDER BY spent.position, spent.energy) AS energy
  FROM spent GROUP BY ALL
)
SELECT added.*, added.energy / nullif(sum(added.energy) OVER (), 0) AS share
FROM added WHERE added.energy > 0
ORDER BY added.energy DESC, added.kind, added.part;
COMMENT ON MACRO TABLE energy_by_part IS 'Where the energy goes: parts of the array, memories, leakage (pJ), and the share of each';

CREATE MACRO stream_front(run) AS TABLE
WITH newest AS (
  SELECT max(bred.number) AS number FROM generations AS bred WHERE bred.run = run
)
SELECT
  found.position, found.latency, found.energy, found.latency * found.energy AS edp, found.memory,
  found.allocation
FROM individuals AS found, newest
WHERE found.run = run AND (
  (found.role = 'front' AND found.generation = newest.number)
  OR (found.role = 'constraint' AND newest.number IS NULL)
)
ORDER BY found.latency, found.energy, found.memory, found.position;
COMMENT ON MACRO TABLE stream_front IS 'The allocations to several cores that no other one beats: latency (cycles), energy (pJ), memory (bit), core of each gene';

CREATE MACRO stream_generations(run) AS TABLE
SELECT
  bred.number, bred.evaluations, bred.latency, bred.energy, bred.edp, bred.memory, bred.front
FROM generations AS bred WHERE bred.run = run
ORDER BY bred.number;
COMMENT ON MACRO TABLE stream_generations IS 'How the search over allocations went: the best of each generation, and the size of its front';

CREATE MACRO stream_nodes(run) AS TABLE
SELECT
  layer.name AS layer, placed.number, placed.gene, placed.core, core.name AS core_name,
  placed.begins, placed.ends, placed.ends - placed.begins AS runtime
FROM schedule_nodes AS placed
JOIN runs AS explored ON explored.id = placed.run
JOIN stream_layers AS layer ON layer.run = placed.run AND layer.layer = placed.layer
JOIN cores AS core ON core.accelerator = explored.accelerator AND core.core = placed.core
WHERE placed.run = run
ORDER BY placed.begins, placed.node;
COMMENT ON MACRO TABLE stream_nodes IS 'The reported schedule: when each computation node runs on which core (cycles)';

CREATE MACRO stream_cores(run) AS TABLE
SELECT
  core.core, core.name, count(placed.node) AS nodes,
  coalesce(sum(placed.ends - placed.begins), 0)::BIGINT AS busy,
  coalesce(sum(placed.ends - placed.begins), 0) / scheduled.latency AS load,
  min(placed.begins) AS first_begin, max(placed.ends) AS last_end
FROM schedules AS scheduled
JOIN runs AS explored ON explored.id = scheduled.run
JOIN cores AS core ON core.accelerator = explored.accelerator AND core.kind = 'compute'
LEFT JOIN schedule_nodes AS placed ON placed.run = scheduled.run AND placed.core = core.core
WHERE scheduled.run = run
GROUP BY core.core, core.name, scheduled.latency
ORDER BY core.core;
COMMENT ON MACRO TABLE stream_cores IS 'How busy each core is in the reported schedule (cycles, share of the latency)';

CREATE MACRO stream_layers_of(run) AS TABLE
SELECT
  layer.layer AS number, layer.name AS layer, layer.operator, layer.nodes,
  list_sort(list_distinct(list(placed.core))) AS cores,
  min(placed.begins) AS begins, max(placed.ends) AS ends,
  sum(placed.ends - placed.begins)::BIGINT AS busy
FROM stream_layers AS layer
JOIN schedule_nodes AS placed ON placed.run = layer.run AND placed.layer = layer.layer
WHERE layer.run = run
GROUP BY ALL
ORDER BY layer.layer;
COMMENT ON MACRO TABLE stream_layers_of IS 'The layers in the reported schedule: on which cores, from when to when (cycles)';

CREATE MACRO stream_links(run) AS TABLE
WITH used AS (
  SELECT
    sent.sending, sent.receiving, sent.begins, sent.ends, held.bits, sent.link_energy, 1 AS transfers
  FROM schedule_transfers AS sent
  JOIN schedule_tensors AS held ON held.run = sent.run AND held.tensor = sent.tensor
  WHERE sent.run = run
  UNION ALL
  SELECT
    streamed.sending, streamed.receiving, streamed.begins, streamed.ends,
    streamed.rate * (streamed.ends - streamed.begins), streamed.link_energy, 0
  FROM schedule_streams AS streamed
  WHERE streamed.run = run
),
taken AS (
  SELECT unnest(way.wires) AS wire, used.begins, used.ends, used.bits, used.transfers
  FROM used
  JOIN runs AS explored ON explored.id = run
  JOIN paths AS way ON way.accelerator = explored.accelerator
    AND way.sender = used.sending AND way.receiver = used.receiving
),
ordered AS (
  SELECT
    taken.*,
    max(taken.ends) OVER (
      PARTITION BY taken.wire ORDER BY taken.begins, taken.ends
      ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
    ) AS before
  FROM taken
),
summed AS (
  SELECT
    ordered.wire, sum(ordered.transfers)::BIGINT AS transfers, sum(ordered.bits)::BIGINT AS bits,
    sum(greatest(
      ordered.ends - greatest(ordered.begins, coalesce(ordered.before, ordered.begins)), 0
    ))::BIGINT AS busy
  FROM ordered GROUP BY ordered.wire
)
SELECT
  wire.wire, wire.name, wire.bandwidth, coalesce(summed.transfers, 0) AS transfers,
  coalesce(summed.bits, 0) AS bits, coalesce(summed.busy, 0) AS busy,
  coalesce(summed.busy, 0) / scheduled.latency AS load
FROM schedules AS scheduled
JOIN runs AS explored ON explored.id = scheduled.run
JOIN wires AS wire ON wire.accelerator = explored.accelerator
LEFT JOIN summed ON summed.wire = wire.wire
WHERE scheduled.run = run
ORDER BY busy DESC, wire.wire;
COMMENT ON MACRO TABLE stream_links IS 'How busy each link and bus is in the reported schedule (cycles, share of the latency), with transfers and bits, the busiest first';

CREATE MACRO stream_memories(run) AS TABLE
SELECT
  home.memory, home.name, home.cores, home.size, coalesce(held.peak, 0) AS peak,
  coalesce(held.peak, 0) / home.size AS share
FROM schedules AS scheduled
JOIN runs AS explored ON explored.id = scheduled.run
JOIN homes AS home ON home.accelerator = explored.accelerator
LEFT JOIN schedule_memories AS held ON held.run = scheduled.run AND held.memory = home.memory
WHERE scheduled.run = run
ORDER BY home.memory;
COMMENT ON MACRO TABLE stream_memories IS 'The most that each outermost memory holds in the reported schedule (bit), and the share of its capacity';

CREATE MACRO stream_energy(run) AS TABLE
SELECT
  spent.part, spent.energy, spent.energy / nullif(scheduled.energy, 0) AS share
FROM schedule_energies AS spent
JOIN schedules AS scheduled ON scheduled.run = spent.run
WHERE spent.run = run
ORDER BY spent.position;
COMMENT ON MACRO TABLE stream_energy IS 'Where the energy of the reported schedule goes (pJ), and the share of each part';

CREATE MACRO stream_transfers(run) AS TABLE
SELECT
  sent.transfer, sent.kind, layer.name AS layer, maker.number,
  layer.operands[held.operand + 1] AS operand, held.bits,
  source.name AS sender, sent.sending, target.name AS receiver, sent.receiving, sent.begins,
  sent.ends, sent.link_energy, sent.memory_energy
FROM schedule_transfers AS sent
JOIN runs AS explored ON explored.id = sent.run
JOIN schedule_tensors AS held ON held.run = sent.run AND held.tensor = sent.tensor
JOIN schedule_nodes AS maker ON maker.run = sent.run AND maker.node = held.node
JOIN stream_layers AS layer ON layer.run = sent.run AND layer.layer = maker.layer
JOIN homes AS source ON source.accelerator = explored.accelerator AND source.memory = sent.sender
JOIN homes AS target ON target.accelerator = explored.accelerator AND target.memory = sent.receiver
WHERE sent.run = run
ORDER BY sent.begins, sent.transfer;
COMMENT ON MACRO TABLE stream_transfers IS 'What is sent in the reported schedule, from where to where and when (cycles), with its energy (pJ)';

CREATE MACRO node_costs(run) AS TABLE
SELECT
  cost.kind, layer.name AS layer, cost.nodes, cost.core, core.name AS core_name, cost.runtime,
  cost.onchip_energy, cost.offchip_energy,
  [operand FOR operand, i IN layer.operands IF (cost.streamed >> (i - 1)) & 1 = 1] AS streamed,
  cost.read_rate, cost.write_rate
FROM stream_costs AS cost
JOIN runs AS explored ON explored.id = cost.run
JOIN stream_layers AS layer ON layer.run = cost.run AND layer.layer = cost.layer
JOIN cores AS core ON core.accelerator = explored.accelerator AND core.core = cost.core
WHERE cost.run = run AND cost.runtime IS NOT NULL
ORDER BY cost.kind, cost.core;
COMMENT ON MACRO TABLE node_costs IS 'What each kind of computation node costs on each core that can run it: runtime (cycles), energies (pJ), rates (bit/cycle)';

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

CREATE VIEW best AS
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
  cme.dataflows,
  result.evaluations,
  ended_by(result.unproven, result.cut) AS ended_by,
  result.cpu_seconds,
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
COMMENT ON COLUMN best.dataflows IS 'Dataflows that the mapping has in memories of which the array has several: weight_stationary, ...';
COMMENT ON COLUMN best.ended_by IS 'The limit that ended the search before the optimum was proven: work or time; NULL: none, or the layer repeats an earlier one';
COMMENT ON COLUMN best.cpu_seconds IS 'Processor time that the run spent on the layer, all threads (s); NULL: it repeats an earlier one, or the run looks for fronts';
COMMENT ON COLUMN best.cme IS 'cmes.hash: the whole evaluation';
COMMENT ON COLUMN best.bound IS 'No mapping of the space searched has a lower objective of the run; NULL: not known';
COMMENT ON COLUMN best.gap IS 'Share by which the optimum may be below this result; 0: it is optimal; NULL: not known';
COMMENT ON COLUMN best.name IS 'Name of the run; NULL: none';
COMMENT ON COLUMN best.workload IS 'Name of the workload';
COMMENT ON COLUMN best.accelerator IS 'Name of the accelerator';
COMMENT ON COLUMN best.objective IS 'What the run made small';
COMMENT ON COLUMN best.seconds IS 'Latency (s); NULL: the clock period is not known';
COMMENT ON COLUMN best.temporal_mapping IS 'Temporal loops on one line, innermost first';

CREATE VIEW evaluations AS
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
COMMENT ON COLUMN evaluations.search IS 'searches.id';
COMMENT ON COLUMN evaluations.number IS 'Number within the search';
COMMENT ON COLUMN evaluations.id IS 'The evaluation: what Store.evaluation(id) gives back in full';
COMMENT ON COLUMN evaluations.name IS 'Name of the run; NULL: none';
COMMENT ON COLUMN evaluations.workload IS 'Name of the workload';
COMMENT ON COLUMN evaluations.accelerator IS 'Name of the accelerator';
COMMENT ON COLUMN evaluations.objective IS 'What the run made small';
COMMENT ON COLUMN evaluations.temporal_mapping IS 'Temporal loops on one line, innermost first';

CREATE VIEW outcomes AS
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
COMMENT ON COLUMN outcomes.layer IS 'Name of the layer';
COMMENT ON COLUMN outcomes.spatial_mapping IS 'The spatial mapping on one line';
COMMENT ON COLUMN outcomes.outcome IS 'feasible, or the reason why not';
COMMENT ON COLUMN outcomes.count IS 'Candidates';
COMMENT ON COLUMN outcomes.name IS 'Name of the run; NULL: none';
COMMENT ON COLUMN outcomes.workload IS 'Name of the workload';
COMMENT ON COLUMN outcomes.accelerator IS 'Name of the accelerator';
COMMENT ON COLUMN outcomes.objective IS 'What the run made small';

CREATE VIEW totals AS
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
COMMENT ON COLUMN totals.name IS 'Name of the run; NULL: none';
COMMENT ON COLUMN totals.tags IS 'Tags of the run';
COMMENT ON COLUMN totals.seconds IS 'Latency (s); NULL: the clock period is not known';

CREATE MACRO history() AS TABLE
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

CREATE MACRO network_totals(run) AS TABLE
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

CREATE MACRO per_layer(run) AS TABLE
SELECT
  result.layer, cme.operator, cme.macs, cme.energy, cme.latency2 AS latency,
  cme.latency2 * cme.clock_period * 1e-9 AS seconds,
  cme.energy * cme.latency2 AS edp, cme.utilization, result.bound, result.gap,
  spatial.text AS spatial_mapping, temporal.text AS temporal_mapping, cme.dataflows,
  result.repeats, result.evaluations, ended_by(result.unproven, result.cut) AS ended_by,
  result.cpu_seconds
FROM results AS result
JOIN cmes AS cme ON cme.hash = result.cme
JOIN spatial_mappings AS spatial ON spatial.hash = cme.spatial_mapping
JOIN temporal_mappings AS temporal ON temporal.hash = cme.temporal_mapping
WHERE result.run = run
ORDER BY result.position;
COMMENT ON MACRO TABLE per_layer IS 'The best mapping of each layer: energy (pJ), latency (cycles), time (s) where the clock period is known, EDP (pJ x cycles), lower bound of the objective, gap to it';

CREATE MACRO designs() AS TABLE
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

CREATE MACRO sweep_id(given) AS (
  SELECT if(
    found.number > 0, found.hash, error(format('{} sweeps are {}; expected one', found.number, given))
  )
  FROM (
    SELECT
      count(*) AS number,
      max_by(asked.hash, struct_pack(started := asked.started, hash := asked.hash)) AS hash
    FROM sweeps AS asked
    WHERE given::VARCHAR = 'last' OR asked.name = given::VARCHAR
      OR starts_with(asked.hash, given::VARCHAR)
  ) AS found
);
COMMENT ON MACRO sweep_id IS 'The sweep with that name or beginning of the hash, or last; of several the one started last: WHERE sweep = sweep_id(''arrays'')';

CREATE MACRO overloaded_ports(run) AS TABLE
SELECT
  result.layer, port.memory, port.port, port.busy, cme.latency2 AS latency,
  port.busy / cme.latency2 AS load
FROM results AS result
JOIN cmes AS cme ON cme.hash = result.cme
JOIN port_stalls AS port ON port.cme = result.cme
WHERE result.run = run AND port.busy > cme.latency2
ORDER BY port.busy / cme.latency2 DESC, result.position, port.memory, port.port;
COMMENT ON MACRO TABLE overloaded_ports IS 'Which ports are busy for longer than their layer takes (cycles), because loads overlap on them; only with --reference';

CREATE MACRO sweep_front(sweep) AS TABLE
SELECT
  design.number AS design, design.parameters, design.mapped_for, design.energy, design.latency,
  design.edp, design.area, design.objective_values, design.networks
FROM (
  SELECT
    asked.hash, unnest(asked.front) AS position, generate_subscripts(asked.front, 1) AS place
  FROM sweeps AS asked WHERE asked.hash = sweep_id(sweep)
) AS best
JOIN sweep_designs AS design ON design.sweep = best.hash AND design.position = best.position
ORDER BY best.place;
COMMENT ON MACRO TABLE sweep_front IS 'The mapped designs of a sweep that no other one dominates: energy (pJ), latency (cycles), EDP (pJ x cycles), area, and the values of its objectives in their order';

CREATE MACRO sweep_best(sweep) AS TABLE
WITH asked AS (
  SELECT given.hash, given.objectives, given.front FROM sweeps AS given WHERE given.hash = sweep_id(sweep)
),
valued AS (
  SELECT
    unnest(design.objective_values) AS cost,
    generate_subscripts(design.objective_values, 1) AS place,
    NOT list_contains(asked.front, design.position) AS dominated,
    design.position
  FROM sweep_designs AS design JOIN asked ON design.sweep = asked.hash
),
least AS (
  SELECT
    valued.place, min(valued.cost) AS cost,
    min_by(
      valued.position,
      struct_pack(cost := valued.cost, dominated := valued.dominated, place := valued.position)
    ) AS position
  FROM valued GROUP BY valued.place
)
SELECT
  asked.objectives[least.place] AS objective, least.cost AS value, design.number AS design,
  design.parameters, design.mapped_for, design.energy, design.latency, design.edp, design.area
FROM asked
CROSS JOIN least
JOIN sweep_designs AS design ON design.sweep = asked.hash AND design.position = least.position
ORDER BY least.place;
COMMENT ON MACRO TABLE sweep_best IS 'The design of a sweep with the lowest value of each objective; of equal ones, one on the front';

CREATE MACRO sweep_parameters(sweep) AS TABLE
WITH asked AS (SELECT given.hash, given.front FROM sweeps AS given WHERE given.hash = sweep_id(sweep)),
best AS (SELECT unnest(asked.front) AS position FROM asked),
entered AS (
  SELECT
    unnest(map_entries(design.parameters::MAP(VARCHAR, VARCHAR))) AS entry,
    generate_subscripts(json_keys(design.parameters), 1) AS place,
    design.position, design.number, design.reason, design.energy, design.latency, design.edp, design.area,
    design.objective_values
  FROM sweep_designs AS design JOIN asked ON design.sweep = asked.hash
),
valued AS (
  SELECT
    entered.entry, unnest(entered.objective_values) AS cost,
    generate_subscripts(entered.objective_values, 1) AS goal
  FROM entered
),
goals AS (
  SELECT valued.entry, valued.goal, min(valued.cost) AS cost FROM valued GROUP BY ALL
),
least AS (
  SELECT goals.entry, list(goals.cost ORDER BY goals.goal) AS costs FROM goals GROUP BY goals.entry
)
SELECT
  entered.entry.key AS parameter,
  entered.entry.value AS value,
  count(DISTINCT entered.number) AS designs,
  count(DISTINCT entered.number) FILTER (entered.reason IS NULL) AS feasible,
  count(DISTINCT entered.number) FILTER (best.position IS NOT NULL) AS on_front,
  min(entered.energy) AS least_energy,
  min(entered.latency) AS least_latency,
  min(entered.edp) AS least_edp,
  min(entered.area) FILTER (entered.reason IS NULL) AS least_area,
  any_value(least.costs) AS least_objective_values
FROM entered
LEFT JOIN best ON best.position = entered.position
LEFT JOIN least ON least.entry = entered.entry
GROUP BY entered.entry, entered.place
ORDER BY entered.place, min(entered.position);
COMMENT ON MACRO TABLE sweep_parameters IS 'What a sweep says of each value of each parameter: designs, how many are on the front, the lowest figures, and the lowest values of the objectives in their order';
