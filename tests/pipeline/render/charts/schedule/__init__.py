"""Tests of pipeline/render/charts/schedule."""
