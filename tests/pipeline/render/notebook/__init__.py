"""Tests of pipeline/render/notebook."""
