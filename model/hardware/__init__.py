"""Accelerators: operational array, memories, ports, what they cost."""
