"""Stages that have tests of their own."""
