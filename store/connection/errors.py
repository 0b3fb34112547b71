"""DuckDB errors as store errors that say what to do."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

import duckdb

from nestmap.model import StoreError

_LOCKED = "another process has it open"
_OPEN_HERE = "this process has it open already"
_FULL = "the disk is full (or a limit on the size of files is reached)"

_ADVICE = (
    (("set lock", "being used by another process"), _LOCKED + "; expected an unlocked file: "
     "wait until that process closes it, or name another file"),
    (("different configuration",), _OPEN_HERE + "; close that store first, or use it"),
    (("not a valid duckdb database file", "sqlite_scanner"), "found a file that is not a DuckDB "
     "database; expected one, or no file at all: name another file"),
    (("could not read enough bytes", "corrupt database file"), "it is damaged or truncated; "
     "expected a readable DuckDB file: restore a copy of it, or name another file"),
    (("no space left", "file too large", "disk quota", "out of disk"), _FULL + "; what was "
     "committed before is safe: free some space and run again, or name a file on another disk"),
    (("permission denied", "read-only file system", "operation not permitted"), "it cannot be "
     "written; expected a writable file and folder: change the permissions or name another file"),
    (("version number", "newer version of duckdb"), "another version of DuckDB wrote it; upgrade "
     "the duckdb package"),
)  # fmt: skip
_DEFAULT_ADVICE = "expected a readable DuckDB file: check the path, or name another file"


def is_locked(error: StoreError) -> bool:
    """Whether the error is that the file is open elsewhere, so that waiting may help."""
    return any(reason in str(error) for reason in (_LOCKED, _OPEN_HERE))


def is_full(error: StoreError) -> bool:
    """Whether the error is a full disk."""
    return _FULL in str(error)


@contextmanager
def wrap_errors(store: str) -> Generator[None]:
    """Turns DuckDB's errors into a :class:`StoreError` about the store with that name."""
    try:
        yield
    except duckdb.Error as error:
        raise StoreError(f"store {store}: {_explain(str(error))}") from None


def _explain(message: str) -> str:
    """The advice for a DuckDB message, and the message, on one line if the cause is known."""
    lower = message.lower()
    for signs, advice in _ADVICE:
        if any(sign in lower for sign in signs):
            return f"{advice} (DuckDB: {' '.join(message.split())})"
    return f"{_DEFAULT_ADVICE} (DuckDB: {message})"
