"""Renders models and results as text, pictures and files; computes nothing."""
