"""Methods that cost networks on designs: explorations on one core, schedules on several."""
