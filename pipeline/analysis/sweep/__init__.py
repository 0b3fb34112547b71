"""Computes figures from sweeps: designs as columns, what each parameter is worth."""
