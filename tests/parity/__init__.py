"""The reference, zigzag-dse, run side by side."""
