"""What code a process runs: results of other code are not those of this sweep."""

from __future__ import annotations

from functools import lru_cache
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path

import nestmap.costmodel.version
import nestmap.model
import nestmap.search.version

_ROOMS = ("costmodel", "model", "pipeline", "search", "store")


@lru_cache(maxsize=1)
def build_of_process() -> str:
    """The versions of nestmap, its cost model and its search, and a digest of all sources."""
    root, digest = Path(nestmap.model.__path__[0]).parent, sha256()
    for room in _ROOMS:
        for file in sorted((root / room).rglob("*.py")):
            digest.update(file.read_bytes())
    costs, search = nestmap.costmodel.version.VERSION, nestmap.search.version.VERSION
    sources = digest.hexdigest()[:12]
    return f"nestmap {version('nestmap')}, cost model {costs}, search {search}, sources {sources}"
