"""Schedules nodes and transfers: a list scheduler in kernels."""
