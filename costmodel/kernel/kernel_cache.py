"""The files in which compiled kernels are cached: one for each kernel and signature."""

from __future__ import annotations

import hashlib
import pickle
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from types import FunctionType
from typing import Final, Protocol, cast, final

from numba.core import serialize
from numba.core.caching import CompileResultCacheImpl

from nestmap.costmodel.kernel.cache import cached_folders, save_cached
from nestmap.costmodel.kernel.shipped import SHIPPED, shipped_machine

_reduce: Final = cast(Callable[[None, object], object], vars(CompileResultCacheImpl)["reduce"])
_rebuild: Final = cast(
    Callable[[None, object, object], object], vars(CompileResultCacheImpl)["rebuild"]
)
_dumps: Final = cast(Callable[[object], bytes], vars(serialize)["dumps"])


class _CodeGenerator(Protocol):
    def magic_tuple(self) -> tuple[object, ...]: ...


class _TargetContext(Protocol):
    def refresh(self) -> None: ...
    def codegen(self) -> _CodeGenerator: ...


class _Compiled(Protocol):
    """What Numba makes of a function for one signature."""

    @property
    def codegen(self) -> _CodeGenerator: ...


@final
class KernelCache:
    """The cache of one kernel, in place of Numba's own.

    Numba's ends the program where a file cannot be written or read, or writes it next to the
    source, where a change of an inner kernel goes unnoticed. Here the kernel is compiled instead.
    """

    def __init__(self, function: FunctionType, digest: str) -> None:
        self._name = function.__name__
        self._digest = digest

    @property
    def cache_path(self) -> str | None:
        """The folder in which Numba looks for the kernel, for its statistics."""
        return next((str(folder) for folder in cached_folders(self._digest)), None)

    def load_overload(self, sig: object, target_context: _TargetContext) -> object | None:
        """The kernel compiled for a signature; ``None`` if it has to be compiled."""
        target_context.refresh()
        for path in self._paths(sig, target_context.codegen().magic_tuple()):
            with suppress(
                OSError, EOFError, pickle.UnpicklingError
            ):  # the file may have broken off
                return _rebuild(None, target_context, pickle.loads(path.read_bytes()))
        return None

    def save_overload(self, sig: object, data: _Compiled) -> None:
        """Caches the kernel compiled for a signature, if a folder can be written."""
        name = self._file_name(sig, data.codegen.magic_tuple())
        save_cached(Path(self._digest, name), _dumps(_reduce(None, data)))

    def flush(self) -> None:
        """Forgets all signatures."""
        for folder in cached_folders(self._digest):
            for file in folder.glob(f"{self._name}-*"):
                file.unlink()

    def _paths(self, sig: object, machine: tuple[object, ...]) -> Iterator[Path]:
        """Where the kernel may be: what was compiled for exactly this processor comes first."""
        for folder in cached_folders(self._digest):
            yield folder / self._file_name(sig, machine)
        shipped = shipped_machine()
        if shipped is not None:
            yield SHIPPED / self._digest / self._file_name(sig, shipped)

    def _file_name(self, sig: object, machine: tuple[object, ...]) -> str:
        """The file of a signature, for a kind of processor and for this Python."""
        key = (sys.implementation.cache_tag, str(sig), *machine)
        digest = hashlib.sha256(repr(key).encode()).hexdigest()
        return f"{self._name}-{digest[:16]}.nbc"
