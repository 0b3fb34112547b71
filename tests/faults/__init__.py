"""Wrong input of every kind: one located message, never a traceback."""
