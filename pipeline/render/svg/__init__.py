"""Draws accelerators, mappings and graphs as SVG."""
