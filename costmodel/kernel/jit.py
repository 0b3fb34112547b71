"""Declares kernels, plain Python functions over arrays that Numba compiles once per machine."""

import hashlib
import os
import pickle
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import cached_property, lru_cache, update_wrapper
from importlib import import_module
from importlib.metadata import version
from multiprocessing import parent_process
from pathlib import Path
from stat import S_ISVTX, S_IWGRP, S_IWOTH
from tempfile import NamedTemporaryFile, gettempdir
from threading import RLock
from types import ModuleType
from typing import Final, Generic, ParamSpec, Protocol, TypeVar, cast, final

from nestmap.model.user_caches import source_files, user_caches

# --- where compiled kernels are cached: a folder into which no other user can put machine code ---

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


# --- declares kernels, plain Python functions over arrays that Numba compiles once per machine ---

P = ParamSpec("P")
R = TypeVar("R")

_DECLARING: Final = RLock()
_SOURCES: Final = ("costmodel", "search")
"""The rooms that have kernels."""

_DAMAGED: Final = (OSError, EOFError, pickle.UnpicklingError)
"""What Numba raises if it cannot read or write a cached kernel; kernels do not raise these."""


def kernel(function: Callable[P, R]) -> Callable[P, R]:
    """The function compiled by Numba on its first call, without the GIL, cached on disk.

    The plain function stays reachable as ``.py_func``; with ``NUMBA_DISABLE_JIT=1`` nothing is
    compiled, so that a debugger can step through.
    """
    return cast(Callable[P, R], Kernel(function, is_inlined=False))


def inlined(function: Callable[P, R]) -> Callable[P, R]:
    """Like :func:`kernel`, for small functions: inlined into their callers."""
    return cast(Callable[P, R], Kernel(function, is_inlined=True))


@final
class Kernel(Generic[R]):
    """A function under ``numba.njit``, which is imported with the first call.

    Numba takes longer to import than many commands to run, and those that reuse results call no
    kernel. Only kernels that Python calls are cached: they contain the code of all they call.
    """

    def __init__(self, function: Callable[..., R], is_inlined: bool) -> None:
        update_wrapper(self, function)
        self.py_func = function
        self._is_inlined = is_inlined

    def __call__(self, *args: object) -> R:
        """Runs the compiled function; a cache that is damaged, or full, is done without."""
        try:
            return self._entry(*args)
        except _DAMAGED:
            self.__dict__["_entry"] = self._compiled(is_cached=False)
            return self._entry(*args)
        except SystemError as error:  # a signal came while Numba made the result, which hides it
            cause: BaseException | None = error
            while isinstance(cause, SystemError):
                cause = cause.__cause__
            if isinstance(cause, KeyboardInterrupt):
                raise KeyboardInterrupt from None
            raise

    @cached_property
    def _entry(self) -> Callable[..., R]:
        """What Python calls."""
        if not is_compiled(self):
            for tell in _WATCHERS:
                tell()
        folder = cache_folder()
        if folder is None:
            return self._compiled(is_cached=False)
        with _DECLARING:
            config = _numba().config
            before, config.CACHE_DIR = config.CACHE_DIR, str(folder)
            try:
                return self._compiled(is_cached=True)
            finally:
                config.CACHE_DIR = before

    @cached_property
    def callee(self) -> Callable[..., R]:
        """What other kernels call; without the wrappers for Python it compiles in less time."""
        made = _numba().njit(
            nogil=True,
            error_model="numpy",
            forceinline=self._is_inlined,
            no_cpython_wrapper=True,
            no_cfunc_wrapper=True,
        )(self.py_func)
        return cast("Callable[..., R]", made)

    def _compiled(self, is_cached: bool) -> Callable[..., R]:
        made = _numba().njit(nogil=True, error_model="numpy", cache=is_cached)(self.py_func)
        return cast("Callable[..., R]", made)


@lru_cache
def _numba() -> ModuleType:
    """Numba, which from now on takes kernels that kernels call for their compiled functions."""
    numba = import_module("numba")

    def type_of(kernel: Kernel[object], _: object) -> object:
        return numba.typeof(kernel.callee)

    import_module("numba.extending").typeof_impl.register(Kernel)(type_of)
    import_module("numba.core.event").register("numba:compile", _timer())
    return numba


class _Timer(Protocol):
    """Numba's measurement of how long it compiles."""

    done: bool  # false while there is none
    duration: float


@lru_cache
def _timer() -> _Timer:
    return cast(_Timer, import_module("numba.core.event").TimingListener())


def seconds_compiling() -> float:
    """How long this process has compiled kernels (s), which no limit of a search counts."""
    return _timer().duration if _numba.cache_info().currsize and _timer().done else 0.0


_WATCHERS: Final = list[Callable[[], None]]()


@contextmanager
def watch_compiling(tell: Callable[[], None]) -> Generator[None]:
    """Within the block, calls ``tell`` before this process compiles a kernel."""
    _WATCHERS.append(tell)
    try:
        yield
    finally:
        _WATCHERS.remove(tell)


@lru_cache
def cache_folder() -> Path | None:
    """Where this process caches kernels: named by their sources; ``None`` if nowhere.

    One line on the error output says if it is not the folder of the user's caches; none in
    processes that ``multiprocessing`` has started, so call this before starting them.
    """
    folder, remark = choose_folder()
    if remark and parent_process() is None:
        print(f"nestmap: {remark}", file=sys.stderr)
    return None if folder is None else folder / _digest()


def is_compiled(kernel: Callable[..., object]) -> bool:
    """Whether this machine has compiled a kernel before; otherwise its first call does."""
    folder, _ = choose_folder()
    names = f"*/{kernel.__module__.rpartition('.')[2]}.{kernel.__name__}-*.nbi"
    return folder is not None and any((folder / _digest()).glob(names))


@lru_cache
def _digest() -> str:
    """A digest of the sources of all kernels: Numba does not see changes of those called."""
    digest = hashlib.sha256(version("numba").encode())
    for file in source_files(*_SOURCES):
        digest.update(file.read_bytes())
    return digest.hexdigest()[:16]
