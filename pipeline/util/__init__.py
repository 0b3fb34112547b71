"""Utilities for files, optional packages, provenance and JSON."""
