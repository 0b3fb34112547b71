"""Several cores: machines, computation nodes, allocations, schedules."""
