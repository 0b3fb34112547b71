"""Intra-core mapping: kinds of nodes, their layers, operands that are too large."""
