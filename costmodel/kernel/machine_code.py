"""Loads the machine code of kernels, and calls it."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from dataclasses import dataclass
from struct import Struct
from typing import Final, cast, final

from nestmap.costmodel.kernel.object_file import link
from nestmap.costmodel.kernel.results import Result, read_result, result_formats
from nestmap.costmodel.kernel.words import Kinds, Words, word_formats

ENTRY: Final = "nestmap_entry"
"""The function of an object file that takes the words of the arguments, and puts the result there.

It returns 0, or another number where memory was short.
"""

RELEASE: Final = "nestmap_release"
"""The one that gives up a reference to what a kernel has allocated."""


@final
@dataclass(frozen=True, slots=True)
class MachineCode:
    """An object file with the two functions, and the kind of the result."""

    image: bytes
    result: Result


@final
class Entry:
    """A kernel that can be called with arguments of certain kinds."""

    def __init__(self, code: MachineCode, kinds: Kinds) -> None:
        """Links the code into this process.

        Raises:
            MemoryError: if there is no memory for it.
            RuntimeError: if the code is damaged.
        """
        run, release = link(code.image, (ENTRY, RELEASE)) or _link_by_llvm(code.image)
        self._run = _RUN(run)
        self._release = cast(Callable[[int], None], _FREE(release))
        self._result = code.result
        self._taken = Struct(word_formats(kinds))
        self._given = Struct(result_formats(code.result))
        words = max(self._taken.size, self._given.size) // ctypes.sizeof(ctypes.c_int64)
        self._new_block = ctypes.c_int64 * words

    def call(self, words: Words) -> object:
        """The result for some arguments; other threads run meanwhile.

        Raises:
            MemoryError: if the kernel cannot allocate what it needs.
        """
        block = self._new_block()
        self._taken.pack_into(block, 0, *words.values)
        if self._run(block) != 0:
            raise MemoryError
        values = iter(cast(tuple[int | float, ...], self._given.unpack_from(block)))
        return read_result(self._result, values, words.arrays, self._release)


_RUN: Final = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p)
_FREE: Final = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


def _link_by_llvm(image: bytes) -> tuple[int, ...]:
    from nestmap.costmodel.kernel.llvm_linker import (  # noqa: PLC0415 (a large library)
        link_by_llvm,
    )

    return link_by_llvm(image, (ENTRY, RELEASE))
