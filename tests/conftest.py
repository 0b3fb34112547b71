"""Hypothesis without deadlines: the first example compiles kernels, and machines are shared.

``make test`` draws the same examples each time, so that a change fails for what it changed;
``make stress`` (``NESTMAP_STRESS=1``) draws new ones.
"""

from __future__ import annotations

import os

from hypothesis import settings

settings.register_profile("nestmap", deadline=None, derandomize=True)
settings.register_profile("stress", deadline=None)
settings.load_profile("stress" if "NESTMAP_STRESS" in os.environ else "nestmap")
