"""Where compiled kernels are cached: a folder into which no other user can put machine code."""

from __future__ import annotations

import os
import sys
from functools import lru_cache
from pathlib import Path
from stat import S_ISVTX, S_IWGRP, S_IWOTH
from tempfile import NamedTemporaryFile, gettempdir

from nestmap.model.user_caches import user_caches

_PROBE = bytes(1 << 16)
"""On a full disk an empty file can often be created; the first bytes fail."""


@lru_cache
def choose_folder() -> tuple[Path | None, str]:
    """The folder for caches, ``None`` if no folder can be used, and what to say about it.

    ``NUMBA_CACHE_DIR`` comes first, then the user's caches, then the temporary folder.
    """
    chosen, home = os.environ.get("NUMBA_CACHE_DIR"), user_caches()
    usual = Path(chosen) if chosen else None if home is None else home / "kernels"
    failed = "" if usual else "the home folder (there is none)"
    for folder in (usual, _temporary()):
        try:
            if folder is None:
                continue
            _probe(folder)
        except OSError as error:
            failed = failed or f"{folder} ({error.strerror})"
            continue
        return folder, failed and f"cannot write {failed}; compiled kernels are cached in {folder}"
    return None, f"cannot write {failed}; compiled kernels are not cached"


def _temporary() -> Path | None:
    """The folder of this user in the temporary folder."""
    user = f"-{os.getuid()}" if sys.platform != "win32" else ""
    try:
        return Path(gettempdir()) / f"nestmap-kernels{user}"
    except FileNotFoundError:  # there is none that can be written
        return None


def _probe(folder: Path) -> None:
    """Raises an OSError if the folder cannot be created and written, or others may write it."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if sys.platform != "win32":
        for place in (folder, *folder.resolve().parents, *folder.parents):
            _check_owner(place, is_parent=place != folder)
    with NamedTemporaryFile(dir=folder) as file:
        file.write(_PROBE)


def _check_owner(place: Path, is_parent: bool) -> None:
    """Raises an OSError if somebody else may replace what is in a folder.

    Who may write a parent may replace the folder itself, unless it is sticky, as /tmp is.
    """
    status = place.lstat() if not is_parent else place.stat()
    is_open = bool(status.st_mode & (S_IWGRP | S_IWOTH))
    if is_parent and status.st_mode & S_ISVTX:
        is_open = False
    if is_open or status.st_uid not in (os.getuid(), 0) or (place.is_symlink() and not is_parent):
        raise PermissionError(0, "it is open to other users", str(place))
