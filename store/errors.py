"""What went wrong in DuckDB, said so that a user knows what to do."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

import duckdb

from nestmap.model import StoreError

_LOCKED = "another process has it open"

_ADVICE = (
    (("set lock", "being used by another process"), _LOCKED + "; expected it "
     "free: wait until that process lets go of it, or name another file"),
    (("different configuration",), "this process has it open already; close that store first, or "
     "use it"),
    (("no space left", "file too large", "disk quota", "out of disk"), "the disk is full (or a "
     "limit on the size of files is reached); what was committed before is safe: make room and "
     "run again, or name a file on another disk"),
    (("permission denied", "read-only file system", "operation not permitted"), "it cannot be "
     "written; expected a file and a folder that may be written: change the permissions or name "
     "another file"),
    (("version number", "newer version of duckdb"), "another version of DuckDB wrote it; upgrade "
     "the duckdb package"),
)  # fmt: skip
_ANYTHING_ELSE = "expected a readable DuckDB file: check the path, or name another file"


def is_locked(error: StoreError) -> bool:
    """Whether the error is that another process has the file open."""
    return _LOCKED in str(error)


@contextmanager
def explained(store: str) -> Generator[None]:
    """Turns DuckDB's errors into one :class:`StoreError` about the store with that name."""
    try:
        yield
    except duckdb.Error as error:
        raise StoreError(f"store {store}: {_advice(str(error))} (DuckDB: {error})") from None


def _advice(message: str) -> str:
    lower = message.lower()
    for signs, advice in _ADVICE:
        if any(sign in lower for sign in signs):
            return advice
    return _ANYTHING_ELSE
