"""Lookup of a run by ``last``, its id, the beginning of its id, or its name."""

from datetime import datetime
from typing import Final
from uuid import UUID

import duckdb

from nestmap.model import StoreError
from nestmap.model.evaluation.recording import LAST_RUN

_SHOWN: Final = 5
_Found = tuple[UUID, datetime, str]

_BEGINNING = """
SELECT id, started, status FROM runs WHERE starts_with(id::VARCHAR, lower($1)) OR name = $1
ORDER BY started DESC, id DESC
"""


def find_run(connection: duckdb.DuckDBPyConnection, text: str) -> UUID:
    """The run that ``text`` names: ``last``, its id, a unique beginning of it, or its name.

    Raises:
        StoreError: if there is none, or several.
    """
    beginning = "" if text == LAST_RUN else text.strip()
    found: list[_Found] = connection.execute(_BEGINNING, [beginning]).fetchall()
    if found and (text == LAST_RUN or (beginning and len(found) == 1)):
        return found[0][0]
    if found and beginning:
        raise StoreError(
            f"run {text!r}: found {len(found)} runs whose id begins so or that have this name; "
            f"expected more of the id of one: {_list_runs(found)}"
        )
    newest = found or connection.execute(_BEGINNING, [""]).fetchall()
    if not newest:
        raise StoreError(
            f"run {text!r}: found no run in this store; expected one: nestmap explore records it"
        )
    raise StoreError(
        f"run {text!r}: found no such run; expected {LAST_RUN}, the id of a run, its beginning, or "
        f"its name: {_list_runs(newest)}"
    )


def _list_runs(found: list[_Found]) -> str:
    shown = [
        f"{run} ({status}, started {started:%Y-%m-%d %H:%M:%S})"
        for run, started, status in found[:_SHOWN]
    ]
    left = len(found) - len(shown)
    return ", ".join(shown) + (f" and {left} older ones" if left else "")
