-- What accelerators consist of: area and leakage by part, clock periods, the parts of IMC arrays.
-- Accelerators and evaluations that were recorded before have no parts here; an accelerator gets
-- them with its next run.

CREATE TYPE part_kind AS ENUM ('array', 'memory', 'vector_unit');

ALTER TABLE accelerators ADD COLUMN clock_period DOUBLE;
COMMENT ON COLUMN accelerators.clock_period IS 'Clock period (ns); NULL: not known';

ALTER TABLE memories ADD COLUMN leakage DOUBLE DEFAULT 0.0;
COMMENT ON COLUMN memories.leakage IS 'Power that one instance takes whether or not it is used (mW)';

ALTER TABLE cmes ADD COLUMN static_energy DOUBLE DEFAULT 0.0;
ALTER TABLE cmes ADD COLUMN clock_period DOUBLE;
COMMENT ON COLUMN cmes.static_energy IS 'What leaks while the layer runs (pJ); 0: not counted';
COMMENT ON COLUMN cmes.clock_period IS 'Clock period (ns); NULL: not known';

ALTER TABLE vector_results ADD COLUMN static_energy DOUBLE DEFAULT 0.0;
COMMENT ON COLUMN vector_results.static_energy IS 'What leaks while it runs (pJ); 0: not counted';
COMMENT ON COLUMN vector_results.energy IS 'operation_energy + memory_energy + static_energy (pJ)';

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

CREATE MACRO designs() AS TABLE
WITH design AS (
  SELECT
    explored.id AS run, workload.name AS workload, workload.hash AS workload_hash,
    accelerator.name AS accelerator, accelerator.area, total.energy, total.latency, total.edp,
    explored.started
  FROM runs AS explored
  JOIN workloads AS workload ON workload.hash = explored.workload
  JOIN accelerators AS accelerator ON accelerator.hash = explored.accelerator
  JOIN totals AS total ON total.run = explored.id
  WHERE explored.status = 'done'
)
SELECT
  design.run, design.workload, design.accelerator, design.area, design.energy, design.latency,
  design.edp,
  NOT EXISTS (
    SELECT 1 FROM design AS other
    WHERE other.workload_hash = design.workload_hash
      AND other.area <= design.area AND other.energy <= design.energy
      AND other.latency <= design.latency
      AND (other.area < design.area OR other.energy < design.energy
        OR other.latency < design.latency)
  ) AS pareto
FROM design
ORDER BY design.workload, design.area, design.energy, design.latency, design.started, design.run;
COMMENT ON MACRO TABLE designs IS 'Finished runs by workload: area, energy (pJ), latency (cycles); pareto: none is as good in all three and better in one';
