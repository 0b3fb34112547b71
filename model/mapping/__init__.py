"""Mappings: spatial unrolling, temporal order of loops, allocation of loops to memories."""
