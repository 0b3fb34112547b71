"""Where a command records its runs, and how to resume an interrupted run."""

import os
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from shlex import quote
from typing import final

from nestmap.model import InputError, RunLabel, StoreError
from nestmap.model.evaluation.recording import LAST_RUN, UNLABELED
from nestmap.pipeline.cli.printing import print_note
from nestmap.store import DEFAULT_PATH, RunStatus, Store


@final
@dataclass(frozen=True, slots=True)
class StoreTarget:
    """The store in which a run is recorded."""

    path: Path

    @property
    def option(self) -> str:
        """The option that selects it on the command line; empty for the default store."""
        return "" if self.path == DEFAULT_PATH else f" --store {quote(str(self.path))}"

    @property
    def has_runs(self) -> bool:
        """Whether it is a store that exists, so that it may hold results to reuse."""
        return self.path.exists()

    @contextmanager
    def open(self) -> Generator[Store]:
        """The store.

        Raises:
            StoreError: where it cannot be opened.
        """
        with Store.open(self.path) as store:
            yield store


def chosen_store(store: Path, no_store: bool) -> StoreTarget | None:
    """The place in which the options record a run; ``None`` for nowhere.

    Raises:
        InputError: where they say both.
    """
    if no_store and store != DEFAULT_PATH:
        raise InputError.conflict("--store", "--no-store", "give one of them")
    return None if no_store else StoreTarget(store)


def chosen_label(name: str | None, tags: Sequence[str], place: StoreTarget | None) -> RunLabel:
    """The name and tags of the run that a command records.

    Raises:
        InputError: if one is not valid, or nothing is recorded.
    """
    label = RunLabel.of(name, tags)
    if place is None and label != UNLABELED:
        option = "--tag" if name is None else "--name"
        raise InputError.conflict(option, "--no-store", "only recorded runs have names and tags")
    return label


@contextmanager
def print_nothing_kept(how: str) -> Generator[None]:
    """Says that nothing is left of what the user interrupts, and how it would be."""
    try:
        yield
    except KeyboardInterrupt:
        print_note(f"Nothing was recorded; {how} it could be resumed.")
        raise


@contextmanager
def print_resume_hint(store: Store, place: StoreTarget) -> Generator[None]:
    """Prints how to resume a run if the user interrupts it, or where its results are."""
    try:
        yield
    except KeyboardInterrupt:
        mine = [run for run in store.runs() if run.pid == os.getpid()]
        if mine and mine[-1].status is RunStatus.DONE:
            print_note(f"Complete: nestmap query best --run {mine[-1].id}{place.option}")
        elif mine:
            print_note(f"To resume: nestmap resume {mine[-1].id}{place.option}")
        raise


# --- whether an argument of a command names a sweep or a run ---


def is_sweep(store: Store, text: str) -> bool:
    """Whether ``text`` names a sweep and no run: its name, or the beginning of its key.

    ``last`` is a run, unless the store has none.
    """
    try:
        store.find_run(text)
    except StoreError:
        return any(
            text in (LAST_RUN, x.info.name) or (text and x.info.key.startswith(text))
            for x in store.sweeps()
        )
    return False
