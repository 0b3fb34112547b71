"""Evaluations: what one mapping, a batch of mappings or a whole network costs."""
