"""In-memory-compute arrays: energy, area and clock from their circuits."""
