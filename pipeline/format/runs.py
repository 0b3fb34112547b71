"""Formats what identifies a run: the beginning of its id, its name and tags."""

from typing import Final
from uuid import UUID

from nestmap.model.evaluation.recording import RunLabel

_DIGITS: Final = 8


def short_id(run: UUID | str) -> str:
    """The beginning of the id of a run, enough to identify it in a store of thousands of runs.

    >>> short_id("18f9737a-03c6-4072-8caa-c8dfdcfdf69a")
    '18f9737a'
    """
    return str(run)[:_DIGITS]


def titled(subject: str, label: RunLabel) -> str:
    """What a run is about, and what the user calls it.

    >>> titled("net on machine", RunLabel(name="wide port", tags=("sram",)))
    'net on machine: wide port #sram'
    """
    return f"{subject}: {label}" if str(label) else subject
