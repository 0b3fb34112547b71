"""Tests of nestmap.store."""
