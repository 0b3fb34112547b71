"""Analyzes one mapping: loop nest, traffic, cost breakdown, what-if accelerators."""
