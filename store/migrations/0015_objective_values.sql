-- The values of the objectives of sweeps, which may be expressions. In a macro a name without its
-- table is a parameter: see 0005.

COMMENT ON COLUMN sweeps.objectives IS 'What the front of designs makes small: energy, latency, edp, area, or an expression by its name or text';

ALTER TABLE sweep_designs ADD COLUMN objective_values DOUBLE[];
COMMENT ON COLUMN sweep_designs.objective_values IS 'Values of the objectives of the sweep, in their order; NULL: infeasible';
COMMENT ON COLUMN sweep_designs.reason IS 'Why the design has no figures, or an objective no value; NULL: they have';
UPDATE sweep_designs SET objective_values = list_transform(
  asked.objectives,
  lambda goal: CASE goal
    WHEN 'energy' THEN energy WHEN 'latency' THEN latency WHEN 'edp' THEN edp ELSE area
  END
)
FROM sweeps AS asked
WHERE asked.hash = sweep_designs.sweep AND sweep_designs.reason IS NULL;

CREATE OR REPLACE MACRO sweep_front(sweep) AS TABLE
SELECT
  design.number AS design, design.parameters, design.energy, design.latency, design.edp,
  design.area, design.objective_values, design.networks
FROM (
  SELECT
    asked.hash, unnest(asked.front) AS position, generate_subscripts(asked.front, 1) AS place
  FROM sweeps AS asked WHERE asked.hash = sweep_id(sweep)
) AS best
JOIN sweep_designs AS design ON design.sweep = best.hash AND design.position = best.position
ORDER BY best.place;
COMMENT ON MACRO TABLE sweep_front IS 'The designs of a sweep that no other one dominates: energy (pJ), latency (cycles), EDP (pJ x cycles), area, and the values of its objectives in their order';

CREATE OR REPLACE MACRO sweep_best(sweep) AS TABLE
WITH asked AS (
  SELECT given.hash, given.objectives FROM sweeps AS given WHERE given.hash = sweep_id(sweep)
),
valued AS (
  SELECT
    unnest(design.objective_values) AS cost,
    generate_subscripts(design.objective_values, 1) AS place,
    design.position
  FROM sweep_designs AS design JOIN asked ON design.sweep = asked.hash
),
least AS (
  SELECT
    valued.place, min(valued.cost) AS cost,
    min_by(valued.position, struct_pack(cost := valued.cost, place := valued.position)) AS position
  FROM valued GROUP BY valued.place
)
SELECT
  asked.objectives[least.place] AS objective, least.cost AS value, design.number AS design,
  design.parameters, design.energy, design.latency, design.edp, design.area
FROM asked
CROSS JOIN least
JOIN sweep_designs AS design ON design.sweep = asked.hash AND design.position = least.position
ORDER BY least.place;
COMMENT ON MACRO TABLE sweep_best IS 'The design of a sweep with the lowest value of each objective';

CREATE OR REPLACE MACRO sweep_parameters(sweep) AS TABLE
WITH asked AS (SELECT given.hash, given.front FROM sweeps AS given WHERE given.hash = sweep_id(sweep)),
best AS (SELECT unnest(asked.front) AS position FROM asked),
entered AS (
  SELECT
    unnest(map_entries(design.parameters::MAP(VARCHAR, VARCHAR))) AS entry,
    generate_subscripts(json_keys(design.parameters), 1) AS place,
    design.position, design.reason, design.energy, design.latency, design.edp, design.area,
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
  count(*) AS designs,
  count(*) FILTER (entered.reason IS NULL) AS feasible,
  count(best.position) AS on_front,
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
