"""Single-core accelerators: operational array, memories, ports, component costs."""
