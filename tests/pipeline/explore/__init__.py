"""Tests of pipeline/explore."""
