"""Renders models and figures as text, pictures and files; computes nothing."""
