"""Where the runs of a command are kept, and how to go on with one that is interrupted."""

from __future__ import annotations

import os
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from shlex import quote
from typing import final

from nestmap.model import InputError
from nestmap.pipeline.cli.printing import print_note
from nestmap.store import DEFAULT_PATH, Store


@final
@dataclass(frozen=True, slots=True)
class StoreTarget:
    """Where a run is kept: in a store, or, where ``parts``, in a folder of Parquet files."""

    path: Path
    parts: bool = False

    @property
    def option(self) -> str:
        """What names it on the command line; nothing for the usual store."""
        return "" if self.path == DEFAULT_PATH else f" --store {quote(str(self.path))}"

    @contextmanager
    def open(self) -> Generator[Store]:
        """The store.

        Raises:
            StoreError: where it cannot be opened.
        """
        with Store.record_to(self.path) if self.parts else Store.open(self.path) as store:
            yield store


def chosen_store(store: Path, no_store: bool, record_to: Path | None) -> StoreTarget | None:
    """Where the options say that a run is kept; ``None``: nowhere.

    Raises:
        InputError: where they contradict each other.
    """
    if record_to is not None:
        if no_store or store != DEFAULT_PATH:
            other = "--no-store" if no_store else "--store"
            raise InputError.conflict("--record-to", other, "use one of them")
        return StoreTarget(record_to, parts=True)
    return None if no_store else StoreTarget(store)


@contextmanager
def print_resume_hint(store: Store, place: StoreTarget) -> Generator[None]:
    """Where the user interrupts a run: says how to go on with it."""
    try:
        yield
    except KeyboardInterrupt:
        mine = [run for run in store.runs() if run.pid == os.getpid()]
        if mine and not place.parts:
            print_note(f"To go on where it was: nestmap resume {mine[-1].id}{place.option}")
        raise
