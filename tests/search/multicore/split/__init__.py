"""Splitting networks into computation nodes."""
