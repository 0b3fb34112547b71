"""Asks before an exploration that takes very long or records very much."""

from __future__ import annotations

import sys
from typing import Final

import typer

from nestmap.model import InputError, Recording
from nestmap.pipeline.cli.printing import print_note
from nestmap.pipeline.explore.size import ExplorationSize
from nestmap.pipeline.format.numbers import count

MOST_MAPPINGS: Final = 10**8
"""Mappings that are evaluated without asking: some minutes."""

LARGEST_RECORD: Final = 10**9
"""Bytes that are recorded without asking."""


def check_size(size: ExplorationSize, recording: Recording | None, *, agreed: bool) -> None:
    """Asks the user to agree to a large exploration, unless they have ``agreed`` already.

    ``recording`` is ``None`` if nothing is recorded.

    Raises:
        InputError: where it is large and nobody is there to ask.
        KeyboardInterrupt: where the user does not agree.
    """
    mappings = size.mappings or 0
    written = 0 if recording is None else size.record_bytes(recording)
    if mappings <= MOST_MAPPINGS and written <= LARGEST_RECORD:
        return
    amount = f"up to {count(mappings)} mappings to evaluate"
    if written:
        amount += f" and {written / 1e9:,.1f} GB to record"
    if not agreed and not sys.stdin.isatty():
        raise InputError(
            "exploration",
            amount,
            f"--yes to start it, or at most {count(MOST_MAPPINGS)} mappings and "
            f"{LARGEST_RECORD / 1e9:g} GB (--lpf-limit, --spatial-mappings, --record-limit)",
        )
    layers = f"{count(size.searches or 0)} spatial mappings of {len(size.layers)} different layers"
    print_note(f"This exploration has {amount}: {layers}.")
    if not agreed:
        _ask()


def _ask() -> None:
    try:
        agreed = typer.confirm("Start it?", err=True)
    except typer.Abort:  # Ctrl-C, or the end of the input
        agreed = False
    if not agreed:
        raise KeyboardInterrupt
