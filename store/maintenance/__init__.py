"""Maintenance of store files: check, merge, prune, export."""
