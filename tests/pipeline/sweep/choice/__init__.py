"""Tests of pipeline/sweep/choice."""
