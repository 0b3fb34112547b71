"""Figures of one mapping: loop nest, traffic, costs by part, what-if machines."""
