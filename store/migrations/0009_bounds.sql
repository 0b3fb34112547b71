-- Lower bounds of what was searched, and how far each result may be from the optimum.
-- In a macro a name without its table is a parameter: see 0005.

ALTER TABLE searches ADD COLUMN energy_bound DOUBLE;
ALTER TABLE searches ADD COLUMN latency_bound DOUBLE;
ALTER TABLE searches ADD COLUMN edp_bound DOUBLE;
ALTER TABLE searches ADD COLUMN unproven BIGINT DEFAULT 0;
COMMENT ON COLUMN searches.energy_bound IS 'No mapping of its space takes less energy (pJ); NULL: not known';
COMMENT ON COLUMN searches.latency_bound IS 'No mapping of its space takes fewer cycles; NULL: not known';
COMMENT ON COLUMN searches.edp_bound IS 'No mapping of its space has a lower energy x latency (pJ x cycles); NULL: not known';
COMMENT ON COLUMN searches.unproven IS 'Number of searches that a limit ended before they had proven the optimum: 0 or 1';

ALTER TABLE results ADD COLUMN bound DOUBLE;
ALTER TABLE results ADD COLUMN gap DOUBLE;
ALTER TABLE results ADD COLUMN energy_bound DOUBLE;
ALTER TABLE results ADD COLUMN latency_bound DOUBLE;
ALTER TABLE results ADD COLUMN edp_bound DOUBLE;
ALTER TABLE results ADD COLUMN unproven BIGINT DEFAULT 0;
COMMENT ON COLUMN results.bound IS 'No mapping of the space searched has a lower objective of the run (pJ, cycles or pJ x cycles); NULL: not known';
COMMENT ON COLUMN results.gap IS 'Share by which the optimum may be below this result; 0: it is optimal; NULL: not known';
COMMENT ON COLUMN results.energy_bound IS 'No mapping of the space searched takes less energy (pJ); NULL: not known';
COMMENT ON COLUMN results.latency_bound IS 'No mapping of the space searched takes fewer cycles; NULL: not known';
COMMENT ON COLUMN results.edp_bound IS 'No mapping of the space searched has a lower energy x latency (pJ x cycles); NULL: not known';
COMMENT ON COLUMN results.unproven IS 'Number of its searches that a limit ended before they had proven the optimum';

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
  result.bound,
  result.gap,
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
COMMENT ON COLUMN best.bound IS 'No mapping of the space searched has a lower objective of the run; NULL: not known';
COMMENT ON COLUMN best.gap IS 'Share by which the optimum may be below this result; 0: it is optimal; NULL: not known';
COMMENT ON COLUMN best.spatial_mapping IS 'The spatial mapping on one line';
COMMENT ON COLUMN best.ordering IS 'Temporal loops, innermost first';
COMMENT ON COLUMN best.evaluations IS 'Mappings evaluated to find this one';
COMMENT ON COLUMN best.cme IS 'cmes.hash: the whole evaluation';

CREATE OR REPLACE MACRO per_layer(run) AS TABLE
SELECT
  result.layer, cme.operator, cme.macs, cme.energy, cme.latency2 AS latency,
  cme.energy * cme.latency2 AS edp, cme.utilization, result.bound, result.gap,
  spatial.text AS spatial_mapping, temporal.text AS temporal_mapping, result.repeats,
  result.evaluations
FROM results AS result
JOIN cmes AS cme ON cme.hash = result.cme
JOIN spatial_mappings AS spatial ON spatial.hash = cme.spatial_mapping
JOIN temporal_mappings AS temporal ON temporal.hash = cme.temporal_mapping
WHERE result.run = run
ORDER BY result.position;
COMMENT ON MACRO TABLE per_layer IS 'The best mapping of each layer: energy (pJ), latency (cycles), EDP (pJ x cycles), lower bound of the objective, gap to it';
