"""Schedules as Perfetto traces."""
