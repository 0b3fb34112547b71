"""Tests of pipeline/render/yaml."""
