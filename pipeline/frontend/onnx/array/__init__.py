"""Converters of the operators that the operational array computes."""
