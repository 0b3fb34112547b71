"""Whether searches find what is there to be found, within a budget of evaluations."""
