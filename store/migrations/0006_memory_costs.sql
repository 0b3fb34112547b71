-- What slow tools say of memories (CACTI), so that they are asked once.

CREATE TABLE memory_costs (
  hash VARCHAR PRIMARY KEY,
  tool VARCHAR NOT NULL,
  size BIGINT NOT NULL,
  width INTEGER NOT NULL,
  read_ports INTEGER NOT NULL,
  write_ports INTEGER NOT NULL,
  read_write_ports INTEGER NOT NULL,
  technology DOUBLE NOT NULL,
  read_energy DOUBLE NOT NULL,
  write_energy DOUBLE NOT NULL,
  area DOUBLE NOT NULL,
  leakage DOUBLE NOT NULL
);
COMMENT ON TABLE memory_costs IS 'What a tool such as CACTI has said of a memory: it is not asked again';
COMMENT ON COLUMN memory_costs.hash IS 'Content hash of the memory and the tool';
COMMENT ON COLUMN memory_costs.tool IS 'Which tool: its name, version and settings';
COMMENT ON COLUMN memory_costs.size IS 'Capacity (bit)';
COMMENT ON COLUMN memory_costs.width IS 'What an access reads or writes (bit)';
COMMENT ON COLUMN memory_costs.read_ports IS 'Number of ports that only read';
COMMENT ON COLUMN memory_costs.write_ports IS 'Number of ports that only write';
COMMENT ON COLUMN memory_costs.read_write_ports IS 'Number of ports that do both';
COMMENT ON COLUMN memory_costs.technology IS 'Node (nm)';
COMMENT ON COLUMN memory_costs.read_energy IS 'Energy of a read of the full width (pJ)';
COMMENT ON COLUMN memory_costs.write_energy IS 'Energy of a write of the full width (pJ)';
COMMENT ON COLUMN memory_costs.area IS 'Area (mm2)';
COMMENT ON COLUMN memory_costs.leakage IS 'Power that it takes whether or not it is used (mW)';
