"""Tests of pipeline/stages/io."""
