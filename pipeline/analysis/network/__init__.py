"""Figures of networks: energy and latency by part, roofline, memory hierarchy."""
