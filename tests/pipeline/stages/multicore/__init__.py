"""Tests of pipeline/stages/multicore."""
