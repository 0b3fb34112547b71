"""Accelerators with one core: operational array, memories, ports, component costs."""
