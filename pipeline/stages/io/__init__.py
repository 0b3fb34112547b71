"""Stages that read, write and draw."""
