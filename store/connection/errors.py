"""DuckDB errors as store errors that say what to do."""

from collections.abc import Generator
from contextlib import contextmanager

import duckdb

from nestmap.model import StoreError
from nestmap.model.errors import shortened

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
_INTERRUPTED = "Query interrupted"
_DEFAULT_ADVICE = "expected a readable DuckDB file: check the path, or name another file"


def is_locked(error: StoreError) -> bool:
    """Whether the error is that the file is open elsewhere, so that waiting may help."""
    return any(reason in str(error) for reason in (_LOCKED, _OPEN_HERE))


def is_full(error: StoreError) -> bool:
    """Whether the error is a full disk."""
    return _FULL in str(error)


@contextmanager
def wrap_errors(store: str) -> Generator[None]:
    """Turns DuckDB's errors into a :class:`StoreError` about the store with that name.

    Raises:
        KeyboardInterrupt: on Ctrl-C, which DuckDB's ``execute`` reports as another error.
    """
    try:
        yield
    except RuntimeError as error:
        if str(error) == _INTERRUPTED:
            raise KeyboardInterrupt from None
        raise
    except duckdb.Error as error:
        raise StoreError(f"store {store}: {_explain(str(error))}") from None


@contextmanager
def wrap_content_errors(store: str) -> Generator[None]:
    """Turns the errors of reading what contradicts itself into a :class:`StoreError`.

    A file of somebody else may have been changed so that no model can be built from its rows, rows
    are missing, or numbers do not fit each other.
    """
    try:
        yield
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        reason = " ".join(str(error).split())
        raise StoreError(
            f"store {store}: found content that contradicts itself ({type(error).__name__}: "
            f"{shortened(reason, 200)}); expected what nestmap recorded: nestmap db check says "
            "what is wrong, or restore a copy of it"
        ) from error


def _explain(message: str) -> str:
    """The advice for a DuckDB message, and the message, on one line if the cause is known."""
    lower = message.lower()
    for signs, advice in _ADVICE:
        if any(sign in lower for sign in signs):
            return f"{advice} (DuckDB: {' '.join(message.split())})"
    return f"{_DEFAULT_ADVICE} (DuckDB: {message})"
