"""Spatial mappings: what to unroll over the array."""
