"""Declares kernels, plain Python functions over arrays that Numba compiles once per machine."""

from __future__ import annotations

import hashlib
import pickle
import sys
from collections.abc import Callable
from functools import cached_property, lru_cache, update_wrapper
from importlib import import_module
from importlib.metadata import version
from multiprocessing import parent_process
from pathlib import Path
from threading import RLock
from types import ModuleType
from typing import Final, Generic, ParamSpec, Protocol, TypeVar, cast, final

from nestmap.costmodel.kernel.cache_folder import choose_folder

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

    @cached_property
    def _entry(self) -> Callable[..., R]:
        """What Python calls."""
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


def seconds_preparing() -> float:
    """How long this process has compiled kernels (s), which no limit of a search counts."""
    return _timer().duration if _numba.cache_info().currsize and _timer().done else 0.0


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
    root, digest = Path(__file__).parents[2], hashlib.sha256(version("numba").encode())
    for room in _SOURCES:
        for file in sorted((root / room).rglob("*.py")):
            digest.update(file.read_bytes())
    return digest.hexdigest()[:16]
