"""What a mapping costs: pure functions from arrays to arrays, one per quantity."""
