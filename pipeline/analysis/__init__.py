"""Numbers out of results; draws nothing."""
