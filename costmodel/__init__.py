"""The cost of a mapping: pure functions from arrays to arrays, one per quantity."""
