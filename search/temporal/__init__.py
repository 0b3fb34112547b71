"""Temporal mappings: loop orders, and the memories that hold the tiles."""
