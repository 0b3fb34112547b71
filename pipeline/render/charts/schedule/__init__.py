"""Charts of schedules: events, memory and channel use, energy."""
