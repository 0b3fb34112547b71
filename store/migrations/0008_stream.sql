-- Explorations of several cores: machines of several cores, what computation nodes cost on them,
-- generations of allocations, and the schedule that a run reports. Such a run is a row of runs, too.

CREATE TYPE run_kind AS ENUM ('explore', 'stream');
CREATE TYPE core_kind AS ENUM ('compute', 'storage');
CREATE TYPE individual_role AS ENUM ('population', 'front', 'scheduled', 'constraint');
CREATE TYPE transfer_kind AS ENUM ('constant', 'activation', 'eviction', 'result');

ALTER TABLE runs ADD COLUMN kind run_kind DEFAULT 'explore';
COMMENT ON TABLE runs IS 'Explorations, of one core or of several';
COMMENT ON COLUMN runs.kind IS 'explore: layer by layer on one core; stream: on several cores';
COMMENT ON COLUMN runs.objective IS 'What the run made small; of several cores: what the reported one of its front has least of';
COMMENT ON COLUMN runs.constraints IS 'What the user fixed: a model.MappingConstraints, or for several cores a model.core_mapping.CoreMapping';

ALTER TABLE accelerators ADD COLUMN cores INTEGER DEFAULT 1;
COMMENT ON TABLE accelerators IS 'Accelerators of one core or of several, one row for each different content';
COMMENT ON COLUMN accelerators.cores IS 'How many cores it has, with those that only store; 1: a single core';
COMMENT ON COLUMN accelerators.units IS 'Multiply-accumulate units of the array, of all cores together';
COMMENT ON COLUMN accelerators.area IS 'Area of arrays and memories, in the unit of the description';
COMMENT ON COLUMN accelerators.json IS 'The whole model.Accelerator, or model.multicore.MultiCoreAccelerator';

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

CREATE OR REPLACE MACRO history() AS TABLE
SELECT
  explored.id AS run, explored.started, explored.status, explored.kind,
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
