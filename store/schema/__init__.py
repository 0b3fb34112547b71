"""The tables of a store, and migrations to them."""
