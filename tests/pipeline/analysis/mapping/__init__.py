"""Tests of the explained mapping."""
