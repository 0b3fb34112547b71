"""Tests of the cost models of memories."""
