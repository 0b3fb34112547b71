"""Declares kernels, plain Python functions over arrays that are compiled once per machine."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable
from functools import cached_property, lru_cache, update_wrapper
from importlib.metadata import version
from pathlib import Path
from types import FunctionType
from typing import Final, Generic, ParamSpec, TypeVar, cast, final

from nestmap.costmodel.kernel.cache import cached_folders
from nestmap.costmodel.kernel.shipped import SHIPPED, shipped_machine

P = ParamSpec("P")
R = TypeVar("R")

_CONSTANTS: Final = frozenset({bool, int, float, str, tuple})


def kernel(function: Callable[P, R]) -> Callable[P, R]:
    """The function compiled by Numba on its first call, without the GIL, cached on disk.

    The plain function stays reachable as ``.py_func``; with ``NUMBA_DISABLE_JIT=1`` nothing is
    compiled, so that a debugger can step through.
    """
    return cast(Callable[P, R], Kernel(function, is_inlined=False))


def inlined(function: Callable[P, R]) -> Callable[P, R]:
    """Like :func:`kernel`, for small functions: inlined into their callers.

    A call that is not inlined passes each array as seven words.
    """
    return cast(Callable[P, R], Kernel(function, is_inlined=True))


@final
class Kernel(Generic[R]):
    """A function that Numba compiles when Python calls it, or when a kernel that does is compiled.

    Declaring one does not import Numba, which takes longer than many commands. What Python calls
    and what kernels call is compiled differently: see :mod:`nestmap.costmodel.kernel.compiler`.
    """

    def __init__(self, function: Callable[..., R], is_inlined: bool) -> None:
        update_wrapper(self, function)
        self.py_func = function
        self._is_inlined = is_inlined

    def __call__(self, *args: object) -> R:
        """Runs the compiled function.

        Raises:
            KeyboardInterrupt: on Ctrl-C; where that comes with the result, Python says SystemError.
        """
        try:
            return self._entry(*args)
        except SystemError as error:
            if isinstance(error.__cause__, KeyboardInterrupt):
                raise KeyboardInterrupt from None
            raise

    @cached_property
    def digest(self) -> str:
        """The result of :func:`digest_of` for the function, as of the first question."""
        return digest_of(cast(FunctionType, self.py_func))

    @cached_property
    def _entry(self) -> Callable[..., R]:
        from nestmap.costmodel.kernel.compiler import entry  # noqa: PLC0415 (imports numba)

        return entry(self.py_func, self._is_inlined, self.digest)

    @cached_property
    def _callee(self) -> Callable[..., R]:
        from nestmap.costmodel.kernel.compiler import callee  # noqa: PLC0415 (imports numba)

        return callee(self.py_func, self._is_inlined)

    @property
    def _numba_type_(self) -> object:
        """The type that the name of this kernel has within other kernels."""
        from nestmap.costmodel.kernel.compiler import (  # noqa: PLC0415 (imports numba)
            type_of_callee,
        )

        return type_of_callee(self._callee)


def is_compiled(kernel: object) -> bool:
    """Whether this machine has compiled the kernel's module before, or the wheel contains it.

    Otherwise its first call does.
    """
    digest = kernel_digest(kernel)
    if any(any(folder.glob("*.nbc")) for folder in cached_folders(digest)):
        return True
    return (SHIPPED / digest).is_dir() and shipped_machine() is not None


def kernel_digest(kernel: object) -> str:
    """The result of :func:`digest_of` for the kernel's function."""
    assert isinstance(kernel, Kernel)
    return kernel.digest


def digest_of(function: FunctionType) -> str:
    """A digest of everything that determines the compiled code of a function.

    This is Numba's version, the file of the function, and what its module imports from others:
    kernels (by their digests), constants (by value), classes and functions of this package (by
    their files).
    """
    module = function.__module__
    digest = hashlib.sha256(_numba_version() + _source(module))
    for name, value in sorted(function.__globals__.items()):
        ingredient = b"" if name.startswith("__") else _ingredient(value, module)
        digest.update(name.encode() + ingredient if ingredient else b"")
    return digest.hexdigest()[:16]


def _ingredient(value: object, module: str) -> bytes:
    """What a global name contributes to the digest of a function of a module."""
    origin: object = getattr(value, "__module__", None)
    if origin == module:
        return b""
    if isinstance(value, Kernel):
        return value.digest.encode()
    if isinstance(origin, str) and origin.startswith("nestmap."):
        return _source(origin)
    return repr(value).encode() if type(value) in _CONSTANTS else b""


@lru_cache
def _numba_version() -> bytes:
    return version("numba").encode()


@lru_cache
def _source(module: str) -> bytes:
    file = sys.modules[module].__file__
    assert file is not None, f"{module} has no source"
    return hashlib.sha256(Path(file).read_bytes()).digest()
