"""Tests of pipeline/render/json."""
