"""Rows and columns of results."""
