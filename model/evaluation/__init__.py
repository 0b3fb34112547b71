"""Costs of mappings: of one mapping, of batches of mappings, of networks."""
