"""Sweeps: explores networks on all or some designs of a design space, and finds the front."""
