"""Reads networks, accelerators and mappings from paths, bundled names or Python objects."""
