"""Tests of inter-core allocation."""
