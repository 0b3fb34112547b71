"""Lookup of a run by ``last``, its id, or the beginning of its id."""

from __future__ import annotations

from datetime import datetime
from typing import Final
from uuid import UUID

import duckdb

from nestmap.model import StoreError

LAST: Final = "last"
"""The name for the run that was started last."""

_SHOWN: Final = 5
_Found = tuple[UUID, datetime, str]

_BEGINNING = """
SELECT id, started, status FROM runs WHERE starts_with(id::VARCHAR, lower(?))
ORDER BY started DESC, id DESC
"""


def find_run(connection: duckdb.DuckDBPyConnection, text: str) -> UUID:
    """The run that ``text`` names: ``last``, its id, or a unique beginning of it.

    Raises:
        StoreError: if there is none, or several.
    """
    beginning = "" if text == LAST else text.strip()
    found: list[_Found] = connection.execute(_BEGINNING, [beginning]).fetchall()
    if found and (text == LAST or (beginning and len(found) == 1)):
        return found[0][0]
    if found and beginning:
        raise StoreError(
            f"run {text!r}: found {len(found)} runs whose id begins so; expected more of the id "
            f"of one: {_list_runs(found)}"
        )
    newest = found or connection.execute(_BEGINNING, [""]).fetchall()
    if not newest:
        raise StoreError(
            f"run {text!r}: found no run in this store; expected one: nestmap explore records it"
        )
    raise StoreError(
        f"run {text!r}: found no such run; expected {LAST}, the id of a run or its beginning: "
        f"{_list_runs(newest)}"
    )


def _list_runs(found: list[_Found]) -> str:
    shown = [
        f"{run} ({status}, started {started:%Y-%m-%d %H:%M:%S})"
        for run, started, status in found[:_SHOWN]
    ]
    left = len(found) - len(shown)
    return ", ".join(shown) + (f" and {left} older ones" if left else "")
