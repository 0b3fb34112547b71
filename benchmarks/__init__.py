"""Measurements: ratios within one run, CPU time, results compared in the same run."""
