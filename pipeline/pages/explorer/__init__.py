"""The explorer: the pages of a store, read-only, served to the browser of this machine."""
