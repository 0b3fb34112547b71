"""The charts of a schedule: what happens when, what memories and wires hold, what it costs."""
