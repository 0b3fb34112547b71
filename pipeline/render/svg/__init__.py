"""Graphs as SVG."""
