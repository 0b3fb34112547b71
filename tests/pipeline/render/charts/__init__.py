"""Tests of the charts of pages: what they are made of; tests/browser has them drawn."""
