"""Reads what a store holds."""
