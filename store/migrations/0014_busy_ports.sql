-- How long each port is busy, and which ones would need longer than their layer takes.

ALTER TABLE port_stalls ADD COLUMN busy BIGINT;
COMMENT ON COLUMN port_stalls.busy IS 'For how long the port moves data (cycles); NULL: recorded before this was counted';

CREATE MACRO overloaded_ports(run) AS TABLE
SELECT
  result.layer, port.memory, port.port, port.busy, cme.latency2 AS latency,
  port.busy / cme.latency2 AS load
FROM results AS result
JOIN cmes AS cme ON cme.hash = result.cme
JOIN port_stalls AS port ON port.cme = result.cme
WHERE result.run = run AND port.busy > cme.latency2
ORDER BY port.busy / cme.latency2 DESC, result.position, port.memory, port.port;
COMMENT ON MACRO TABLE overloaded_ports IS 'Which ports are busy for longer than their layer takes (cycles), because loads overlap on them: strict_ports of an accelerator forbids it';
