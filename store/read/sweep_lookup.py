"""Lookup of a sweep by ``last``, its name, or the beginning of its key."""

from __future__ import annotations

from typing import Final

import duckdb

from nestmap.model.errors import StoreError
from nestmap.model.run_label import LAST_RUN

_SHOWN: Final = 5
_SWEEPS: Final = """
SELECT hash, name FROM sweeps
WHERE $beginning = '' OR name = $beginning OR starts_with(hash, $beginning)
ORDER BY started DESC, hash DESC
"""


def find_sweep_key(connection: duckdb.DuckDBPyConnection, text: str) -> str:
    """The key of the sweep that ``text`` names; of several with one name, the last one started.

    Raises:
        StoreError: if there is none.
    """
    beginning = "" if text == LAST_RUN else text.strip()
    found = _found(connection, beginning)
    if found and (beginning or text == LAST_RUN):
        return found[0][0]
    names = dict.fromkeys(name for _, name in _found(connection, ""))
    known = ", ".join(list(names)[:_SHOWN])
    expected = f"{LAST_RUN} or the name of one: {known}" if known else "nestmap sweep to record one"
    raise StoreError(f"sweep {text!r}: found no such sweep in this store; expected {expected}")


def _found(connection: duckdb.DuckDBPyConnection, beginning: str) -> list[tuple[str, str]]:
    return connection.execute(_SWEEPS, {"beginning": beginning}).fetchall()
