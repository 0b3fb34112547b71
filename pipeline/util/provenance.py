"""Provenance of a result: the command line and the versions that affect it."""

import platform
import shlex
import sys
from importlib.metadata import version
from pathlib import Path

from nestmap.costmodel.version import VERSION as COST_MODEL_VERSION
from nestmap.search.version import VERSION as SEARCH_VERSION


def command_line() -> str:
    """The command line: the program with its arguments."""
    return shlex.join([Path(sys.argv[0]).name, *sys.argv[1:]]) if sys.argv else "python"


def versions() -> dict[str, str | int]:
    """The versions of the packages that affect results."""
    return {
        "cost_model": COST_MODEL_VERSION,
        "search": SEARCH_VERSION,
        "python": platform.python_version(),
        **{name: version(name) for name in ("numpy", "numba", "duckdb")},
    }
