"""Iterations and operations of the operators that a vector unit computes."""
