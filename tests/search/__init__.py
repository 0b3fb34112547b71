"""Unit tests of the searches."""
