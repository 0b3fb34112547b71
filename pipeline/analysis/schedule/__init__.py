"""Figures of schedules: critical path, stalls, core and channel loads, energy."""
