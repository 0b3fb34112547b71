"""Stages that map layers onto one core."""
