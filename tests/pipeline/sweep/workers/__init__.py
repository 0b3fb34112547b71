"""Tests of pipeline/sweep/workers."""
