"""Tests of model/multicore."""
