"""The schema of the store: its tables and references."""
