"""Tests of pipeline/stages/mapping."""
