"""What produced a result: the command, and the versions of all that decides a figure."""

from __future__ import annotations

import platform
import shlex
import sys
from importlib.metadata import version
from pathlib import Path

from nestmap.costmodel.version import VERSION as COST_MODEL_VERSION
from nestmap.search.version import VERSION as SEARCH_VERSION


def command_line() -> str:
    """The command that was called: the program with its arguments."""
    return shlex.join([Path(sys.argv[0]).name, *sys.argv[1:]]) if sys.argv else "python"


def versions() -> dict[str, str | int]:
    """Versions of all that decides a figure."""
    return {
        "cost_model": COST_MODEL_VERSION,
        "search": SEARCH_VERSION,
        "python": platform.python_version(),
        **{name: version(name) for name in ("numpy", "numba", "duckdb")},
    }
