"""Tests of pipeline/analysis/network."""
