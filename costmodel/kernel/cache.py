"""Where compiled kernels are cached: with the user's caches, otherwise in a temporary folder."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import lru_cache
from multiprocessing import parent_process
from pathlib import Path
from stat import S_IMODE, S_ISDIR
from tempfile import NamedTemporaryFile, gettempdir
from typing import Final

from nestmap.model.user_caches import user_caches

SUFFIX: Final = ".kernel"
"""The suffix of files of compiled kernels."""

_PROBE: Final = bytes(1 << 16)
"""On a full disk an empty file can often be created; the first bytes fail."""


@lru_cache
def cache_base() -> Path | None:
    """The folder in which this process caches what it compiles; ``None`` if it can write none.

    Unless it is the user's, one line on the error output says so; none in processes that
    ``multiprocessing`` has started, so call this before starting them.
    """
    bases = _bases()
    reasons = [] if _temporary() not in bases[:1] else ["the home folder (there is none)"]
    for base in bases:
        try:
            _probe(base)
        except OSError as error:
            reasons.append(f"{base} ({error.strerror})")
            continue
        if reasons:
            _say(f"cannot write {reasons[0]}; compiled kernels are cached in {base}")
        return base
    _say(f"cannot write {' or '.join(reasons)}; compiled kernels are not cached")
    return None


def cached_folders(digest: str) -> Iterator[Path]:
    """The existing folders that may hold compiled kernels with this digest."""
    for base in _bases():
        if (base / digest).is_dir() and _is_trusted(base):
            yield base / digest


def save_cached(name: Path, content: bytes) -> None:
    """Writes a file, whose name begins with a digest, to the first folder that can be written."""
    base = cache_base()
    if base is None:
        return
    try:
        _write(base / name, content)
    except OSError as error:  # it could be written when it was chosen
        _save_elsewhere(f"{base} ({error.strerror})", name, content)


def save_quietly(name: Path, content: bytes) -> None:
    """Writes a file, whose name begins with a digest, if a folder can be written; says nothing."""
    _write_to_first(_bases(), name, content)


def _save_elsewhere(failed: str, name: Path, content: bytes) -> None:
    base = _write_to_first(_bases()[1:], name, content)
    where = "not cached" if base is None else f"cached in {base}"
    _say(f"cannot write {failed}; compiled kernels are {where}")


def _write_to_first(bases: Sequence[Path], name: Path, content: bytes) -> Path | None:
    """Writes a file to the first of these folders that can be written, and returns the folder."""
    for base in bases:
        with suppress(OSError):
            _probe(base)
            _write(base / name, content)
            return base
    return None


def _write(path: Path, content: bytes) -> None:
    """Writes a file at once: other processes see all of it or nothing."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f"{path.name}.{os.getpid()}")
    try:
        part.write_bytes(content)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def _bases() -> tuple[Path, ...]:
    """The folders for caches in order of preference; none of them need exist."""
    chosen = os.environ.get("NUMBA_CACHE_DIR")
    if chosen:
        return (Path(chosen),)
    home = user_caches()
    return (_temporary(),) if home is None else (home / "kernels", _temporary())


def _temporary() -> Path:
    """The folder of this user in the temporary folder; on Windows, that is the user's already."""
    user = f"-{os.getuid()}" if sys.platform != "win32" else ""
    try:
        folder = gettempdir()
    except FileNotFoundError:  # there is none that can be written: let the probe say why
        folder = os.environ.get("TMPDIR", "/tmp")
    return Path(folder) / f"nestmap-kernels{user}"


def _probe(base: Path) -> None:
    """Raises an OSError if the folder cannot be created and written."""
    if base == _temporary():
        base.mkdir(mode=0o700, exist_ok=True)
    base.mkdir(parents=True, exist_ok=True)
    if not _is_trusted(base):
        raise PermissionError(0, "it is open to other users", str(base))
    with NamedTemporaryFile(dir=base) as file:
        file.write(_PROBE)


def _is_trusted(base: Path) -> bool:
    """Whether nobody else can put code there: anyone may create folders in the temporary one."""
    if sys.platform == "win32" or base != _temporary():
        return True
    status = base.lstat()
    is_private = status.st_uid == os.getuid() and not S_IMODE(status.st_mode) & 0o077
    return S_ISDIR(status.st_mode) and is_private


@lru_cache
def _say(text: str) -> None:
    if parent_process() is None:
        print(f"nestmap: {text}", file=sys.stderr)
