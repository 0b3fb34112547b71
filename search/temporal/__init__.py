"""Temporal mappings: loop orders (LOMA, SALSA), allocation of loops to memories."""
