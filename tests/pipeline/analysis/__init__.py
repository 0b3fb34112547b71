"""Tests of pipeline/analysis."""
