"""Reads runs, results and searches as models, and answers SQL queries."""
