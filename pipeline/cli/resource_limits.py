"""Says in one line that there is too little memory, or that no thread can start."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Final

LEAST_ADDRESS_SPACE: Final = 2 * 2**30
"""Bytes of address space with which every command runs on a few cores.

With less, NumPy, LLVM and DuckDB end the process while they are loaded, and no message can be
printed.
"""

_NO_THREAD: Final = ("can't start new thread", "cannot join thread before it is started")
_NO_MEMORY: Final = ("OutOfMemoryException", "ArrowMemoryError")
_WHAT_TO_DO: Final = "more: raise the limits of this process (ulimit -v, ulimit -u), or free memory"


def check_address_space() -> None:
    """Checks the limit that ``ulimit -v`` sets, where the system has one.

    Raises:
        InputError: if it is too low.
    """
    if sys.platform == "win32":
        return
    import resource  # noqa: PLC0415 (not on Windows)

    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit != resource.RLIM_INFINITY and limit < LEAST_ADDRESS_SPACE:
        from nestmap.model.errors import InputError  # noqa: PLC0415 (takes long to import)

        raise InputError(
            "ulimit -v",
            f"{limit / 2**20:.0f} MiB of address space",
            f"at least {LEAST_ADDRESS_SPACE / 2**20:.0f} MiB, with less of which libraries crash",
        )


def exhausted_resource(error: BaseException) -> str | None:
    """What an error, or one that led to it, says has run out; ``None`` if nothing has."""
    for each in _led_to(error):
        if isinstance(each, MemoryError) or type(each).__name__ in _NO_MEMORY:
            return f"memory: found none left; expected {_WHAT_TO_DO}"
        if isinstance(each, RuntimeError) and str(each) in _NO_THREAD:
            return f"threads: found that no more can start; expected {_WHAT_TO_DO}"
    return None


def _led_to(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__
