"""Tests of pipeline/frontend/yaml/hardware."""
