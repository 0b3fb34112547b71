-- What tells the process of a run from a later process with the same number.

ALTER TABLE runs ADD COLUMN process VARCHAR;
COMMENT ON COLUMN runs.process IS 'When that process started, which tells it from later ones of its number; NULL: unknown';
