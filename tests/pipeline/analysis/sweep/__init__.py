"""Tests of pipeline/analysis/sweep."""
