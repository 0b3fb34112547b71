"""Analyzes schedules: critical path, stalls, core and channel loads, energy."""
