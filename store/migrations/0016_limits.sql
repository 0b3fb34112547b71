-- What limits of time have cut short is recorded but never reused; work is the same everywhere.
ALTER TABLE searches ADD COLUMN cut BIGINT DEFAULT 0;
ALTER TABLE searches ADD COLUMN labels BIGINT DEFAULT 0;
ALTER TABLE results ADD COLUMN cut BIGINT DEFAULT 0;
ALTER TABLE results ADD COLUMN labels BIGINT DEFAULT 0;
ALTER TABLE sweep_designs ADD COLUMN networks.element.cut BOOLEAN;
COMMENT ON COLUMN searches.cut IS 'Number of searches that a limit of time ended, 0 or 1: not reused';
COMMENT ON COLUMN searches.labels IS 'Number of partial mappings that the exact search followed';
COMMENT ON COLUMN results.cut IS 'Number of its searches that a limit of time ended';
COMMENT ON COLUMN results.labels IS 'Number of partial mappings that its exact searches followed';
COMMENT ON COLUMN sweep_designs.networks IS 'What each network costs once: energy (pJ), latency (cycles), the share by which the optimum may be below (gap), and whether a limit of time ended a search (cut)';
