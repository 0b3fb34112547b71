-- Vector operators cost something: beside the totals of a run, or in them where it counts them. And
-- a layer of the same content as an earlier one has its results without a search of its own.

ALTER TABLE runs ADD COLUMN vector_counted BOOLEAN DEFAULT false;
COMMENT ON COLUMN runs.vector_counted IS 'Whether the totals include the vector operators';

ALTER TABLE results ADD COLUMN repeats VARCHAR;
COMMENT ON COLUMN results.repeats IS 'The earlier layer of the run that has the same content, mapping and cost, if any';

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
COMMENT ON COLUMN vector_results.energy IS 'operation_energy + memory_energy (pJ)';
COMMENT ON COLUMN vector_results.operation_energy IS 'Energy of the operations (pJ); 0 without a vector unit';
COMMENT ON COLUMN vector_results.memory_energy IS 'Energy of the traffic (pJ)';
COMMENT ON COLUMN vector_results.latency IS 'The larger one of compute_cycles and traffic_cycles (cycles)';
COMMENT ON COLUMN vector_results.compute_cycles IS 'Cycles of the operations; 0 without a vector unit';
COMMENT ON COLUMN vector_results.traffic_cycles IS 'Cycles of the traffic';

CREATE OR REPLACE VIEW totals AS
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
),
vector AS (
  SELECT
    run,
    sum(energy ORDER BY position) AS energy,
    sum(latency)::BIGINT AS latency
  FROM vector_results
  GROUP BY run
),
counted AS (
  SELECT
    summed.* REPLACE (
      summed.energy + if(run.vector_counted, coalesce(vector.energy, 0), 0) AS energy,
      summed.latency + if(run.vector_counted, coalesce(vector.latency, 0), 0) AS latency
    ),
    coalesce(vector.energy, 0) AS vector_energy,
    coalesce(vector.latency, 0) AS vector_latency,
    run.* EXCLUDE (id)
  FROM summed
  JOIN runs AS run ON run.id = summed.run
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
