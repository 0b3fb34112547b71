"""Tests of the pipeline: stages, parsers, presets, command line."""
