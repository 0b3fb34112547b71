"""Splits networks into computation nodes."""
