"""The sandbox for untrusted SQL."""
