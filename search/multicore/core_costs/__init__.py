"""Costs of computation nodes on cores."""
