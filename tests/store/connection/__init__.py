"""Tests of store/connection."""
