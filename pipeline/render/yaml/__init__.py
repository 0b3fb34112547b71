"""Mappings as YAML."""
