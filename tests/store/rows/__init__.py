"""Tests of store/rows."""
