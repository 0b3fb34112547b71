"""What an evaluation says: one mapping, many mappings, a network."""
