"""Mappings: spatial unrolling, temporal loop order, allocation of loops to memories."""
