"""Reads networks, accelerators and mappings from files, bundled examples and Python objects."""
