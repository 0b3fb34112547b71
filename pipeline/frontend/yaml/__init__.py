"""Reads the YAML formats: workloads, mappings and accelerators."""
