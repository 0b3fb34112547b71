"""Tests of model/workload/builders."""
