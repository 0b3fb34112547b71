"""The folder of nestmap among the user's caches."""

from __future__ import annotations

import os
from pathlib import Path


def user_caches() -> Path | None:
    """The folder, which need not exist; ``None`` if the user has no home."""
    try:
        home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    except RuntimeError:  # no HOME, and no entry of the user in the list of users
        return None
    return Path(home) / "nestmap"
