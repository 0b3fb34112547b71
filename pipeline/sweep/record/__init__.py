"""Records sweeps in a store, and reads them back."""
