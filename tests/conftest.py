"""Hypothesis without deadlines: the first example compiles kernels, and machines are shared."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("nestmap", deadline=None)
settings.load_profile("nestmap")
