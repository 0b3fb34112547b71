"""Draws graphs as SVG."""
