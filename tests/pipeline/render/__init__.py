"""Tests of pipeline/render."""
