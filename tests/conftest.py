"""How all tests run: what is costly to prepare is prepared once, and Hypothesis has no deadlines.

The first example compiles kernels, and machines are shared. ``make test`` draws the same examples
each time, so that a change fails for what it changed; ``make stress`` (``NESTMAP_STRESS=1``) draws
new ones.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Final

import pytest
from hypothesis import settings

TOGETHER: Final = (
    *("browser", "docs/test_pictures.py", "docs/test_site.py", "notebooks"),
    "pipeline/pages/explorer",
)
"""Tests that share something that takes long to make: one worker runs them (--dist loadgroup)."""

# What a test starts reads bytecode that another test left, even where PYTHONDONTWRITEBYTECODE is
# set; without it, each process compiles all modules (0.3 CPU s). None of it is in the repository.
BYTECODE: Final = str(Path(sys.prefix) / "bytecode")
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
os.environ["PYTHONPYCACHEPREFIX"] = BYTECODE
sys.dont_write_bytecode, sys.pycache_prefix = False, BYTECODE

settings.register_profile("nestmap", deadline=None, derandomize=True)
settings.register_profile("stress", deadline=None)
settings.load_profile("stress" if "NESTMAP_STRESS" in os.environ else "nestmap")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Keeps tests together that share something."""
    here = Path(__file__).parent
    groups = {here / name: name for name in TOGETHER}
    for item in items:
        for place in (item.path, *item.path.parents):
            if place in groups:
                item.add_marker(pytest.mark.xdist_group(groups[place]))
