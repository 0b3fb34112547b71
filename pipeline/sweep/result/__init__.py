"""Results of sweeps: fronts, tables, relations, summaries."""
