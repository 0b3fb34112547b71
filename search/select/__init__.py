"""Selection: the best, the k best, the Pareto front."""
