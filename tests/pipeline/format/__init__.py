"""Tests of pipeline/format."""
