"""Numbers about the layers of a network."""
