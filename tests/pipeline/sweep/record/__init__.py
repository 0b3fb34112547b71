"""Tests of pipeline/sweep/record."""
