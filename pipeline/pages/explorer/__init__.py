"""The explorer: serves the pages of a store, read-only, on this machine."""
