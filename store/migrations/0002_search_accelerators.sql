-- A layer may run on less than the whole accelerator: without the memories above the one where its
-- data stays on chip. And a search may leave out spatial mappings that cannot be the best.

ALTER TABLE searches ADD COLUMN accelerator VARCHAR;
UPDATE searches SET accelerator = (SELECT runs.accelerator FROM runs WHERE runs.id = searches.run);
COMMENT ON COLUMN searches.accelerator IS 'accelerators.hash of the memories that the layer uses; that of the run, or less where data stays on chip';

ALTER TABLE results ADD COLUMN pruned BIGINT DEFAULT 0;
COMMENT ON COLUMN results.pruned IS 'Spatial mappings left out because they cannot have a better mapping';
