"""Chooses the designs of a sweep: all, at random, or by samplers."""
