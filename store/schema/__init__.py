"""The schema of the store: its tables, references and migrations."""
