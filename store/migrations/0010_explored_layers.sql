-- What finished runs found for each layer, so that a later run reuses it without repeating the
-- steps that led to the searches: generating spatial mappings and computing their lower bounds.

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
