"""Costs computation nodes on each core."""
