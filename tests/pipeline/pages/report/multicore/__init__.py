"""Tests of pipeline/pages/report/multicore."""
