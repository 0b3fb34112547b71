"""What notebooks show: the tables of models and results, and the example in the documentation."""
