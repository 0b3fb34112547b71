"""Selects the best, the k best or the Pareto front."""
