"""Tests of search/spatial."""
