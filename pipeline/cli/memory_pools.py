"""Bounds the number of pools in which the C library keeps freed memory."""

from __future__ import annotations

import os
import sys
from typing import Final

_MOST_POOLS: Final = -8
"""What glibc calls M_ARENA_MAX."""


def share_memory_pools() -> None:
    """Lets threads share the pools of glibc, each of which keeps what was freed: one for two cores.

    Usually each thread has its own, those of DuckDB and of the searches, with several MB. Call it
    before anything starts a thread, as NumPy does.
    """
    if sys.platform == "linux":
        import ctypes  # noqa: PLC0415 (help is fast)

        library = ctypes.CDLL(None)
        if hasattr(library, "mallopt"):  # not in other C libraries
            library.mallopt(_MOST_POOLS, max((os.cpu_count() or 1) // 2, 1))
