"""Spatial mappings: which loops to unroll over the array, with lower bounds."""
