"""Unit tests of the cost model."""
