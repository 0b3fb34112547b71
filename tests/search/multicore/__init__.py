"""Tests of search/multicore."""
