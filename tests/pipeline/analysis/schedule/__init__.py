"""Tests of pipeline/analysis/schedule."""
