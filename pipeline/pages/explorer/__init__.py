"""The explorer: serves the pages of a store, read-only, on the local machine."""
