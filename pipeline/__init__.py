"""The stage graph."""
