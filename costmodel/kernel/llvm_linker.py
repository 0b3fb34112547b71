"""Links object files into this process with LLVM, where ``object_file`` does not."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import count
from typing import Final

from llvmlite import binding

_numbers: Final = count()
_linked: Final[list[binding.ResourceTracker]] = []
"""What is linked, for as long as Python runs."""


def link_by_llvm(image: bytes, functions: Sequence[str]) -> tuple[int, ...]:
    """The addresses of functions of an object file, which stays loaded until Python ends.

    Raises:
        RuntimeError: if the code is damaged.
    """
    library = binding.JITLibraryBuilder().add_object_img(image).add_current_process()
    for name in functions:
        library.export_symbol(name)
    linked = library.link(_linker(), f"kernel{next(_numbers)}")
    _linked.append(linked)
    return tuple(linked[name] for name in functions)


@lru_cache
def _linker() -> binding.LLJIT:
    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    return binding.create_lljit_compiler()
