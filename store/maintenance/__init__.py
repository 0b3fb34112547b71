"""Maintains store files: check, merge, prune, export."""
