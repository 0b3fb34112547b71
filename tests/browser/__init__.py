"""Tests of pages in a real browser: what a reader sees, clicks and is told."""
