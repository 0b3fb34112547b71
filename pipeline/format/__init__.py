"""Text of numbers, units and mappings; colors."""
