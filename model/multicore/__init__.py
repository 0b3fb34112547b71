"""Several cores: accelerators, computation nodes, allocations, schedules."""
