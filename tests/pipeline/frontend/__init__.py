"""Tests of pipeline/frontend."""
