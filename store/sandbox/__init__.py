"""Runs untrusted SQL."""
