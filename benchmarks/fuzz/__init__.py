"""Fuzzers: random faults in what users give, and what nestmap makes of them."""
