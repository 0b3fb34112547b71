"""Readers: runs, results and searches of a store as models, and SQL queries."""
