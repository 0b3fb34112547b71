"""The folder of nestmap among the user's caches, and the sources that its files depend on."""

import os
from collections.abc import Iterator
from pathlib import Path


def user_caches() -> Path | None:
    """The folder, which need not exist; ``None`` if the user has no home."""
    try:
        home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    except RuntimeError:  # no HOME, and no entry of the user in the list of users
        return None
    return Path(home) / "nestmap"


def source_files(*folders: str) -> Iterator[Path]:
    """All sources in some folders of nestmap, always in the same order."""
    root = Path(__file__).parents[1]
    for folder in folders:
        yield from sorted((root / folder).rglob("*.py"))
