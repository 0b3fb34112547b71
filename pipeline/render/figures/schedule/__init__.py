"""Draws schedules on several cores."""
