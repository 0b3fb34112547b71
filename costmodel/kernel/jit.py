"""Compiles kernels: plain Python functions over arrays, turned into machine code once a machine."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import ParamSpec, TypeVar, cast

import numba
from numba.core import config

P = ParamSpec("P")
R = TypeVar("R")


def kernel(function: Callable[P, R]) -> Callable[P, R]:
    """The function compiled by Numba on its first call, without the GIL, cached on disk.

    The plain function stays reachable as ``.py_func``; with ``NUMBA_DISABLE_JIT=1`` nothing is
    compiled, so that a debugger can step through.
    """
    with _cache_folder():
        compiled = numba.njit(cache=True, nogil=True, error_model="numpy")(function)
    return cast(Callable[P, R], compiled)


def inlined(function: Callable[P, R]) -> Callable[P, R]:
    """As :func:`kernel`, for small functions: copied into those that call them.

    What is called otherwise gets each array that it is passed as seven words.
    """
    with _cache_folder():
        compiled = numba.njit(cache=True, nogil=True, error_model="numpy", forceinline=True)(
            function
        )
    return cast(Callable[P, R], compiled)


def is_compiled_before() -> bool:
    """Whether this machine has compiled these sources before (else the first run takes longer)."""
    return any(_cache_path().rglob("*.nbi"))


@contextmanager
def _cache_folder() -> Generator[None]:
    """Numba's cache folder set to one of our own, for as long as a kernel is declared.

    Numba checks only the file of the outermost function for changes, so a changed inner kernel
    would go unnoticed: a folder named after all the kernel sources cannot be stale.
    """
    settings = config.__dict__
    before: str = settings["CACHE_DIR"]
    settings["CACHE_DIR"] = before or str(_cache_path())
    try:
        yield
    finally:
        settings["CACHE_DIR"] = before


def _cache_path() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "nestmap" / f"kernels-{_sources_hash()}"


def _sources_hash() -> str:
    digest = hashlib.sha256(numba.__version__.encode())
    for path in kernel_sources():
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def kernel_sources() -> list[Path]:
    """The files that decide what the kernels compile to: their own, and those they take from."""
    package = Path(__file__).parents[2]
    files = [package / "model" / name for name in ("workload/affine.py", "dims.py")]
    files += sorted((package / "costmodel").glob("*.py"))
    files += sorted((package / "costmodel" / "kernel").glob("*.py"))
    files.append(package / "search" / "multicore" / "schedule" / "table_layout.py")
    return files + [p for p in sorted((package / "search").rglob("*.py")) if _has_kernel(p)]


def _has_kernel(path: Path) -> bool:
    text = path.read_text(encoding="utf-8")
    return "@kernel" in text or "@inlined" in text
