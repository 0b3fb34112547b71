"""Numbers, units and mappings as text; colors."""
