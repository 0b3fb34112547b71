"""Tests of pipeline/frontend/networks."""
