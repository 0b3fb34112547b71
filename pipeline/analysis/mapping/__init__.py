"""What a mapping does and costs, what binds, and what would help: the numbers of explanations."""
