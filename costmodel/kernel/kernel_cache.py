"""The files in which compiled kernels are cached: one for each kernel and kinds of arguments."""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Iterator
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import cast

import numpy as np

from nestmap.costmodel.kernel.cache import SUFFIX, cached_folders, save_cached
from nestmap.costmodel.kernel.machine import Machine, this_machine
from nestmap.costmodel.kernel.machine_code import MachineCode
from nestmap.costmodel.kernel.results import kind_of_json, kind_to_json
from nestmap.costmodel.kernel.shipped import SHIPPED, shipped_machine
from nestmap.costmodel.kernel.words import Kinds


def load_code(name: str, digest: str, kinds: Kinds) -> MachineCode | None:
    """The code of a kernel with this digest for arguments of some kinds; ``None`` if not found."""
    for path in _paths(name, digest, kinds):
        with suppress(OSError, ValueError):  # the file may have broken off
            return _read_code(path.read_bytes())
    return None


def save_code(name: str, digest: str, kinds: Kinds, code: MachineCode) -> None:
    """Caches the code of a kernel, if a folder can be written."""
    head = {"image": _checksum(code.image), "result": kind_to_json(code.result)}
    content = json.dumps(head).encode() + b"\n" + code.image
    save_cached(Path(digest, _file_name(name, kinds, host_machine())), content)


@lru_cache
def host_machine() -> Machine:
    """What code is compiled for here, with the variables by which Numba is told otherwise."""
    here = this_machine()
    return Machine(
        here.triple,
        os.environ.get("NUMBA_CPU_NAME") or here.processor,
        os.environ.get("NUMBA_CPU_FEATURES", here.features),
    )


def _paths(name: str, digest: str, kinds: Kinds) -> Iterator[Path]:
    """Where the code may be: what was compiled for exactly this processor comes first."""
    for folder in cached_folders(digest):
        yield folder / _file_name(name, kinds, host_machine())
    shipped = shipped_machine()
    if shipped is not None:
        yield SHIPPED / digest / _file_name(name, kinds, shipped)


def _file_name(name: str, kinds: Kinds, machine: Machine) -> str:
    """The file of some kinds, for a kind of processor and for this Python."""
    key = (sys.implementation.cache_tag, *(_kind_text(x) for x in kinds), *machine)
    digest = hashlib.sha256(repr(key).encode()).hexdigest()
    return f"{name}-{digest[:16]}{SUFFIX}"


def _kind_text(kind: object) -> str:
    if isinstance(kind, np.dtype):
        return _layout_text(cast(np.dtype[np.generic], kind))
    if isinstance(kind, tuple):
        return f"({', '.join(_kind_text(x) for x in cast(tuple[object, ...], kind))})"
    return repr(kind)


@lru_cache
def _layout_text(dtype: np.dtype[np.generic]) -> str:
    return repr(dtype)


def _read_code(content: bytes) -> MachineCode:
    """The code in a file.

    Raises:
        ValueError: if it is not as it was written.
    """
    head, _, image = content.partition(b"\n")
    fields: dict[str, object] = json.loads(head)
    if fields.get("image") != _checksum(image):
        raise ValueError("the file is damaged")
    return MachineCode(image, kind_of_json(fields.get("result")))


def _checksum(image: bytes) -> str:
    return hashlib.sha256(image).hexdigest()
