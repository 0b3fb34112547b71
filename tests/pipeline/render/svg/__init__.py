"""Tests of pipeline/render/svg."""
