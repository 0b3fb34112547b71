"""Analyzes networks: energy and latency breakdowns, roofline, memory hierarchy."""
