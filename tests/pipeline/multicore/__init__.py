"""Tests of pipeline/multicore."""
