"""Tests of model/hardware."""
