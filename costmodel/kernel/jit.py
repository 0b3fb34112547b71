"""Compiles kernels, which are plain Python functions over arrays, once per machine."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from types import FunctionType
from typing import Final, ParamSpec, TypeVar, cast

import numba

from nestmap.costmodel.kernel.cache import KernelCache, cached_folders

P = ParamSpec("P")
R = TypeVar("R")

_DIGESTS: Final[dict[int, str]] = {}
"""The digest of each kernel, by the identity of the kernel; kernels live forever."""

_CONSTANTS: Final = frozenset({bool, int, float, str, tuple})


def kernel(function: Callable[P, R]) -> Callable[P, R]:
    """The function compiled by Numba on its first call, without the GIL, cached on disk.

    The plain function stays reachable as ``.py_func``; with ``NUMBA_DISABLE_JIT=1`` nothing is
    compiled, so that a debugger can step through.
    """
    return _compiled(function, inline=False)


def inlined(function: Callable[P, R]) -> Callable[P, R]:
    """Like :func:`kernel`, for small functions: inlined into their callers.

    A call that is not inlined passes each array as seven words.
    """
    return _compiled(function, inline=True)


def _compiled(function: Callable[P, R], inline: bool) -> Callable[P, R]:
    """The kernel, with a cache folder named after its digest.

    Numba checks only the file of the outermost function for changes, so a changed inner kernel
    would go unnoticed. With one folder per digest no cached kernel is ever stale, and a change
    recompiles only the kernels that depend on it.
    """
    digest = digest_of(cast(FunctionType, function))
    made = numba.njit(nogil=True, error_model="numpy", forceinline=inline)(function)
    if made is not function:  # with NUMBA_DISABLE_JIT=1 it is
        vars(made)["_cache"] = KernelCache(cast(FunctionType, function), digest)
    _DIGESTS[id(made)] = digest
    return cast(Callable[P, R], made)


def is_compiled(kernel: object) -> bool:
    """Whether this machine has compiled the kernel's module before.

    Otherwise its first call does.
    """
    folders = cached_folders(declared_digest(kernel))
    return any(any(folder.rglob("*.nbc")) for folder in folders)


def declared_digest(kernel: object) -> str:
    """The result of :func:`digest_of` for the kernel's function at its declaration."""
    return _DIGESTS[id(kernel)]


def digest_of(function: FunctionType) -> str:
    """A digest of everything that determines the compiled code of a function.

    This is Numba's version, the file of the function, and what its module imports from others:
    kernels (by their digests), constants (by value), classes and functions of this package (by
    their files). So a module defines its constants before its first kernel.
    """
    module = function.__module__
    digest = hashlib.sha256(numba.__version__.encode() + _source(module))
    for name, value in sorted(function.__globals__.items()):
        ingredient = b"" if name.startswith("__") else _ingredient(value, module)
        digest.update(name.encode() + ingredient if ingredient else b"")
    return digest.hexdigest()[:16]


def _ingredient(value: object, module: str) -> bytes:
    """What a global name contributes to the digest of a function of a module."""
    origin: object = getattr(value, "__module__", None)
    if origin == module:
        return b""
    if id(value) in _DIGESTS:
        return _DIGESTS[id(value)].encode()
    if isinstance(origin, str) and origin.startswith("nestmap."):
        return _source(origin)
    return repr(value).encode() if type(value) in _CONSTANTS else b""


@lru_cache
def _source(module: str) -> bytes:
    file = sys.modules[module].__file__
    assert file is not None, f"{module} has no source"
    return hashlib.sha256(Path(file).read_bytes()).digest()
