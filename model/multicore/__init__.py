"""Multi-core models: accelerators, computation nodes, allocations, schedules."""
