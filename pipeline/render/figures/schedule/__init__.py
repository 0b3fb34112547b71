"""Figures of schedules on several cores."""
