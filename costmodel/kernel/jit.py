"""Declares kernels, plain Python functions over arrays that are compiled once per machine."""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Callable
from functools import cached_property, lru_cache, update_wrapper
from importlib.metadata import version
from pathlib import Path
from threading import RLock
from time import perf_counter
from types import FunctionType
from typing import TYPE_CHECKING, Final, Generic, ParamSpec, TypeVar, cast, final

from nestmap.costmodel.kernel.cache import SUFFIX, cached_folders
from nestmap.costmodel.kernel.shipped import SHIPPED, shipped_machine
from nestmap.costmodel.kernel.words import Kinds, Words

if TYPE_CHECKING:  # what is needed where a kernel is called
    from nestmap.costmodel.kernel.machine_code import Entry, MachineCode

P = ParamSpec("P")
R = TypeVar("R")

_IS_COMPILING: Final = os.environ.get("NUMBA_DISABLE_JIT", "0") in ("", "0")
_LOADING: Final = RLock()
_PREPARING: Final = [0.0]
"""Seconds in which this process has compiled and loaded kernels."""

_COMPILER: Final = ("compiler.py", "entry_code.py", "results.py", "words.py")
"""The files that say what is in the machine code of a kernel."""

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

    What was compiled before is loaded and called without Numba, whose import takes longer than
    many commands.
    """

    def __init__(self, function: Callable[..., R], is_inlined: bool) -> None:
        update_wrapper(self, function)
        self.py_func = function
        self._is_inlined = is_inlined
        self._entries: dict[Kinds, Entry] = {}

    def __call__(self, *args: object) -> R:
        """Runs the compiled function.

        Raises:
            MemoryError: if it cannot allocate what it needs.
            TypeError: if kernels cannot take an argument.
        """
        if not _IS_COMPILING:
            return self.py_func(*args)
        words = Words(args)
        entry = self._entries.get(words.kinds) or self._load(words.kinds, args)
        return cast(R, entry.call(words))

    def _load(self, kinds: Kinds, args: tuple[object, ...]) -> Entry:
        """The code for arguments of some kinds, compiled if it is not cached."""
        from nestmap.costmodel.kernel.kernel_cache import (  # noqa: PLC0415 (not all commands do)
            load_code,
            save_code,
        )
        from nestmap.costmodel.kernel.machine_code import Entry  # noqa: PLC0415 (as above)

        with _LOADING:
            if kinds not in self._entries:
                name, began = self.py_func.__name__, perf_counter()
                code = load_code(name, self.digest, kinds)
                if code is None:
                    code = self._compile(args)
                    save_code(name, self.digest, kinds, code)
                self._entries[kinds] = Entry(code, kinds)
                _PREPARING[0] += perf_counter() - began
            return self._entries[kinds]

    def _compile(self, args: tuple[object, ...]) -> MachineCode:
        from nestmap.costmodel.kernel.compiler import (  # noqa: PLC0415 (imports numba)
            compile_entry,
        )

        return compile_entry(self._callee, args)

    @cached_property
    def digest(self) -> str:
        """The result of :func:`digest_of` for the function, as of the first question."""
        return digest_of(cast(FunctionType, self.py_func))

    @cached_property
    def _callee(self) -> Callable[..., object]:
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
    if any(any(folder.glob(f"*{SUFFIX}")) for folder in cached_folders(digest)):
        return True
    return (SHIPPED / digest).is_dir() and shipped_machine() is not None


def seconds_preparing() -> float:
    """How long this process has compiled and loaded kernels, which no limit of a search counts."""
    return _PREPARING[0]


def kernel_digest(kernel: object) -> str:
    """The result of :func:`digest_of` for the kernel's function."""
    assert isinstance(kernel, Kernel)
    return kernel.digest


def digest_of(function: FunctionType) -> str:
    """A digest of everything that determines the compiled code of a function.

    This is Numba's version, how it is used, the file of the function, and what its module imports
    from others: kernels (by their digests), constants (by value), classes and functions of this
    package (by their files).
    """
    module = function.__module__
    digest = hashlib.sha256(_compiler() + _source(module))
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
def _compiler() -> bytes:
    files = [Path(__file__).with_name(name).read_bytes() for name in _COMPILER]
    return b"".join([version("numba").encode(), *files])


@lru_cache
def _source(module: str) -> bytes:
    file = sys.modules[module].__file__
    assert file is not None, f"{module} has no source"
    return hashlib.sha256(Path(file).read_bytes()).digest()
