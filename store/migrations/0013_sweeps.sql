-- Sweeps over the designs of accelerators. A sweep is what it asks: started again, it goes on. Its
-- designs are recorded in the order in which they are chosen, which the question determines. In a
-- macro a name without its table is a parameter: see 0005.

CREATE TABLE sweeps (
  hash VARCHAR PRIMARY KEY,
  name VARCHAR NOT NULL,
  started TIMESTAMP NOT NULL,
  command VARCHAR NOT NULL,
  version VARCHAR NOT NULL,
  objective VARCHAR NOT NULL,
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
COMMENT ON COLUMN sweeps.objective IS 'What the mapping of each layer makes small';
COMMENT ON COLUMN sweeps.objectives IS 'What the front of designs makes small';
COMMENT ON COLUMN sweeps.aggregate IS 'Whether the figures of a design are those of all networks (sum) or of one (worst)';
COMMENT ON COLUMN sweeps.methods IS 'Of each network: content hash of network, constraints, options and versions. With equal accelerators, equal figures';
COMMENT ON COLUMN sweeps.question IS 'Space, networks and options, from which the sweep goes on';
COMMENT ON COLUMN sweeps.most IS 'Number of designs to explore, at most';
COMMENT ON COLUMN sweeps.designs IS 'Number of designs explored';
COMMENT ON COLUMN sweeps.rejected IS 'Number of designs tried that do not meet the constraints; NULL: the sweep is not complete';
COMMENT ON COLUMN sweeps.front IS 'Positions of the designs that no other one dominates, by ascending objectives';

CREATE TABLE sweep_designs (
  sweep VARCHAR NOT NULL,
  position BIGINT NOT NULL,
  number DECIMAL(38, 0) NOT NULL,
  parameters JSON NOT NULL,
  accelerator VARCHAR,
  area DOUBLE,
  energy DOUBLE,
  latency DOUBLE,
  edp DOUBLE,
  reason VARCHAR,
  networks STRUCT(network VARCHAR, weight DOUBLE, energy DOUBLE, latency DOUBLE, gap DOUBLE)[] NOT NULL
);
COMMENT ON TABLE sweep_designs IS 'The designs that sweeps have explored';
COMMENT ON COLUMN sweep_designs.sweep IS 'sweeps.hash';
COMMENT ON COLUMN sweep_designs.position IS 'Position in the sweep, from 0';
COMMENT ON COLUMN sweep_designs.number IS 'Number of the design in its space';
COMMENT ON COLUMN sweep_designs.parameters IS 'Values of the parameters by name';
COMMENT ON COLUMN sweep_designs.accelerator IS 'Content hash of the accelerator; NULL: its description is refused';
COMMENT ON COLUMN sweep_designs.area IS 'Area, in the unit of the description; NULL: the description is refused';
COMMENT ON COLUMN sweep_designs.energy IS 'Energy (pJ) of the networks: sum, or the worst; NULL: infeasible';
COMMENT ON COLUMN sweep_designs.latency IS 'Latency (cycles) of the networks: sum, or the worst; NULL: infeasible';
COMMENT ON COLUMN sweep_designs.edp IS 'Energy-delay product (pJ x cycles) of the networks; NULL: infeasible';
COMMENT ON COLUMN sweep_designs.reason IS 'Why the design has no figures; NULL: it has';
COMMENT ON COLUMN sweep_designs.networks IS 'What each network costs once: energy (pJ), latency (cycles), and the share by which the optimum may be below (gap)';

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

CREATE MACRO sweep_front(sweep) AS TABLE
SELECT
  design.number AS design, design.parameters, design.energy, design.latency, design.edp,
  design.area, design.networks
FROM (
  SELECT
    asked.hash, unnest(asked.front) AS position, generate_subscripts(asked.front, 1) AS place
  FROM sweeps AS asked WHERE asked.hash = sweep_id(sweep)
) AS best
JOIN sweep_designs AS design ON design.sweep = best.hash AND design.position = best.position
ORDER BY best.place;
COMMENT ON MACRO TABLE sweep_front IS 'The designs of a sweep that no other one dominates: energy (pJ), latency (cycles), EDP (pJ x cycles), area';

CREATE MACRO sweep_best(sweep) AS TABLE
WITH found AS (
  SELECT design.* FROM sweep_designs AS design
  WHERE design.sweep = sweep_id(sweep) AND design.reason IS NULL
),
least AS (
  SELECT
    min_by(found.position, struct_pack(cost := found.energy, place := found.position)) AS energy,
    min_by(found.position, struct_pack(cost := found.latency, place := found.position)) AS latency,
    min_by(found.position, struct_pack(cost := found.edp, place := found.position)) AS edp,
    min_by(found.position, struct_pack(cost := found.area, place := found.position)) AS area
  FROM found
),
goals AS (
  SELECT
    unnest(asked.objectives) AS objective, generate_subscripts(asked.objectives, 1) AS place
  FROM sweeps AS asked WHERE asked.hash = sweep_id(sweep)
)
SELECT
  goals.objective, found.number AS design, found.parameters, found.energy, found.latency, found.edp,
  found.area
FROM goals
CROSS JOIN least
JOIN found ON found.position = CASE goals.objective
  WHEN 'energy' THEN least.energy WHEN 'latency' THEN least.latency WHEN 'edp' THEN least.edp
  ELSE least.area
END
ORDER BY goals.place;
COMMENT ON MACRO TABLE sweep_best IS 'The design of a sweep with the lowest value of each objective';

CREATE MACRO sweep_parameters(sweep) AS TABLE
WITH asked AS (SELECT given.hash, given.front FROM sweeps AS given WHERE given.hash = sweep_id(sweep)),
best AS (SELECT unnest(asked.front) AS position FROM asked),
valued AS (
  SELECT
    unnest(map_entries(design.parameters::MAP(VARCHAR, VARCHAR))) AS entry,
    generate_subscripts(json_keys(design.parameters), 1) AS place,
    design.position, design.reason, design.energy, design.latency, design.edp,
    design.area
  FROM sweep_designs AS design JOIN asked ON design.sweep = asked.hash
)
SELECT
  valued.entry.key AS parameter,
  valued.entry.value AS value,
  count(*) AS designs,
  count(*) FILTER (valued.reason IS NULL) AS feasible,
  count(best.position) AS on_front,
  min(valued.energy) AS least_energy,
  min(valued.latency) AS least_latency,
  min(valued.edp) AS least_edp,
  min(valued.area) FILTER (valued.reason IS NULL) AS least_area
FROM valued LEFT JOIN best ON best.position = valued.position
GROUP BY valued.entry.key, valued.place, valued.entry.value
ORDER BY valued.place, min(valued.position);
COMMENT ON MACRO TABLE sweep_parameters IS 'What a sweep says of each value of each parameter: designs, how many are on the front, the lowest figures';
