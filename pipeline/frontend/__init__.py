"""Reads networks, accelerators and mappings: files, bundled, Python objects."""
