"""Where a command records its runs, and how to resume an interrupted run."""

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
    """Where a run is recorded: in a store or, if ``parts``, in a folder of Parquet files."""

    path: Path
    parts: bool = False

    @property
    def option(self) -> str:
        """The option that selects it on the command line; empty for the default store."""
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
    """The place in which the options record a run; ``None`` for nowhere.

    Raises:
        InputError: where the options contradict each other.
    """
    if record_to is not None:
        if no_store or store != DEFAULT_PATH:
            other = "--no-store" if no_store else "--store"
            raise InputError.conflict("--record-to", other, "use one of them")
        return StoreTarget(record_to, parts=True)
    return None if no_store else StoreTarget(store)


@contextmanager
def print_resume_hint(store: Store, place: StoreTarget) -> Generator[None]:
    """Prints how to resume a run if the user interrupts it."""
    try:
        yield
    except KeyboardInterrupt:
        mine = [run for run in store.runs() if run.pid == os.getpid()]
        if mine and not place.parts:
            print_note(f"To resume: nestmap resume {mine[-1].id}{place.option}")
        raise
