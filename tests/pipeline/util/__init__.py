"""Tests of pipeline/util."""
