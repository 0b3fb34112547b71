"""Where compiled kernels are cached: with the user's caches, otherwise in a temporary folder."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import lru_cache
from multiprocessing import parent_process
from pathlib import Path
from pickle import UnpicklingError
from stat import S_IMODE, S_ISDIR
from tempfile import NamedTemporaryFile, gettempdir
from types import FunctionType
from typing import Final, Protocol, cast, final

from numba.core import config
from numba.core.caching import FunctionCache

from nestmap.costmodel.kernel.user_caches import user_caches

_PROBE: Final = bytes(1 << 16)
"""On a full disk an empty file can often be created; the first bytes fail."""


class _NumbaCache(Protocol):
    """Numba's cache of one function in one folder; a missing entry loads as None."""

    @property
    def cache_path(self) -> str: ...
    def load_overload(self, sig: object, target_context: object) -> object | None: ...
    def save_overload(self, sig: object, data: object) -> None: ...
    def flush(self) -> None: ...


_OPEN: Final = cast(Callable[[FunctionType], _NumbaCache], FunctionCache)
"""Numba's cache of a function in the folder that Numba is set to."""


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


def _bases() -> tuple[Path, ...]:
    """The folders for caches in order of preference; none of them need exist."""
    chosen: str = config.__dict__["CACHE_DIR"]  # NUMBA_CACHE_DIR
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


@final
class KernelCache:
    """The cache of one kernel, in place of Numba's own.

    Numba's ends the program where a file cannot be written or read, or writes it next to the
    source, where a change of an inner kernel goes unnoticed. Here the kernel is compiled instead.
    """

    def __init__(self, function: FunctionType, digest: str) -> None:
        self._function = function
        self._digest = digest

    @property
    def cache_path(self) -> str | None:
        """The folder in which Numba looks for the kernel, for its statistics."""
        return next((str(folder) for folder in cached_folders(self._digest)), None)

    def load_overload(self, sig: object, target_context: object) -> object | None:
        """The kernel compiled for a signature; ``None`` if it has to be compiled."""
        for folder in cached_folders(self._digest):
            with suppress(OSError):
                found = _load(self._in(folder), sig, target_context)
                if found is not None:
                    return found
        return None

    def save_overload(self, sig: object, data: object) -> None:
        """Caches the kernel compiled for a signature, if a folder can be written."""
        base = cache_base()
        if base is None:
            return
        try:
            self._save(base, sig, data)
        except OSError as error:  # it could be written when it was chosen
            self._save_elsewhere(f"{base} ({error.strerror})", sig, data)

    def flush(self) -> None:
        """Forgets all signatures."""
        for folder in cached_folders(self._digest):
            self._in(folder).flush()

    def _save_elsewhere(self, failed: str, sig: object, data: object) -> None:
        for base in _bases()[1:]:
            with suppress(OSError):
                _probe(base)
                self._save(base, sig, data)
                _say(f"cannot write {failed}; compiled kernels are cached in {base}")
                return
        _say(f"cannot write {failed}; compiled kernels are not cached")

    def _save(self, base: Path, sig: object, data: object) -> None:
        (base / self._digest).mkdir(parents=True, exist_ok=True)
        self._in(base / self._digest).save_overload(sig, data)

    def _in(self, folder: Path) -> _NumbaCache:
        """Numba's cache in a folder.

        Raises:
            PermissionError: if it cannot be written; Numba takes the folder of the source then.
        """
        settings = config.__dict__
        before: str = settings["CACHE_DIR"]
        settings["CACHE_DIR"] = str(folder)
        try:
            made = _OPEN(self._function)
        except RuntimeError:  # "no locator available": the folder of the source is read-only, too
            raise PermissionError(0, "cannot be written", str(folder)) from None
        finally:
            settings["CACHE_DIR"] = before
        if not made.cache_path.startswith(str(folder)):
            raise PermissionError(0, "cannot be written", str(folder))
        return made


def _load(cache: _NumbaCache, sig: object, target_context: object) -> object | None:
    """The entry of a signature; a file that broke off in the middle is emptied."""
    try:
        return cache.load_overload(sig, target_context)
    except (EOFError, UnpicklingError):
        cache.flush()
        return None
