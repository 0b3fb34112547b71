"""Infers shapes; replaces control flow and composite operators."""
