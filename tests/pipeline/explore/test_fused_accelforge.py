"""Fused convolutions beside AccelForge, which has another cost model and another search."""

import pytest
from benchmarks.accelforge import explored

UNFUSED, FUSED = 51.49, 32.32
"""Energies (uJ) of AccelForge 1.0.467 for two layers, as ``benchmarks.accelforge`` prints them."""


def test_two_convolutions_cost_what_accelforge_finds() -> None:
    found = explored(2)
    for ours, theirs in ((found.unfused, UNFUSED), (found.fused, FUSED)):
        assert ours / 1e6 == pytest.approx(theirs, rel=0.01)
        assert ours / 1e6 <= theirs
