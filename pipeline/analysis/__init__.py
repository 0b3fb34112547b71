"""Computes figures from results; draws nothing."""
