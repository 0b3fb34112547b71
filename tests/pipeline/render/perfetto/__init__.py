"""Tests of pipeline/render/perfetto."""
