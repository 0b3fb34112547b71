"""Tests of search/temporal."""
