"""Tests of store/maintenance."""
