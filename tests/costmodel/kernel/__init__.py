"""Tests of costmodel/kernel."""
