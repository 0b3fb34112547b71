"""Records runs and searches."""
