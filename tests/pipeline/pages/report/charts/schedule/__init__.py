"""Tests of pipeline/pages/report/charts/schedule."""
