"""Connections to the DuckDB file."""
