"""Tests of model/workload."""
