"""Tests of search/select."""
