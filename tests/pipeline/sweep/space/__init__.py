"""Tests of pipeline/sweep/space."""
