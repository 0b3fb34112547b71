"""Tests of the domain model."""
