"""Rows of each table: from models and back."""
