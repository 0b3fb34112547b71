"""Which mappings to try."""
