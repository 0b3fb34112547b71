"""Loads the machine code of kernels, and calls it."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from itertools import count
from struct import Struct
from typing import Final, cast, final

from llvmlite import binding

from nestmap.costmodel.kernel.results import Result, read_result, result_formats
from nestmap.costmodel.kernel.words import Kinds, Words, word_formats

ENTRY: Final = "nestmap_entry"
"""The function of an object file that takes the words of the arguments, and puts the result there.

It returns 0, or another number where memory was short.
"""

RELEASE: Final = "nestmap_release"
"""The one that gives up a reference to what a kernel has allocated."""

_numbers: Final = count()


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
            RuntimeError: if the code is damaged.
        """
        library = binding.JITLibraryBuilder().add_object_img(code.image).add_current_process()
        library.export_symbol(ENTRY).export_symbol(RELEASE)
        self._library = library.link(_linker(), f"kernel{next(_numbers)}")  # keeps it loaded
        self._run = _RUN(self._library[ENTRY])
        self._release = cast(Callable[[int], None], _FREE(self._library[RELEASE]))
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


@lru_cache
def _linker() -> binding.LLJIT:
    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    return binding.create_lljit_compiler()
