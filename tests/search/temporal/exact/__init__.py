"""Tests of the exact search: brute force on small problems, properties of its bound."""
