"""Where the values of a YAML file come from."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

V = TypeVar("V")
"""The values of a YAML file."""


def source_of(given: V | Path | str, resolve: Callable[[str], Path]) -> V | Path:
    """The file of a path or name, or the values themselves."""
    return resolve(str(given)) if isinstance(given, str | Path) else given
