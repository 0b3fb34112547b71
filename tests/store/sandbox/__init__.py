"""Tests of store/sandbox."""
