"""Tests of store/record."""
