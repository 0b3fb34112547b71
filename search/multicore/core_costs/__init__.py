"""Computes the cost of computation nodes on each core."""
