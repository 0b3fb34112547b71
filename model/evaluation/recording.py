"""What a run records in a store, what it reuses, and what its user calls it."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from types import NoneType
from typing import Final

from nestmap.model.base import Frozen
from nestmap.model.errors import InputError, check_kind
from nestmap.model.units import PositiveCount

RECORD_LIMIT: Final = 1_000_000
"""Evaluations of a search that are recorded at most unless another limit is given: 25 MB."""


class RecordMode(StrEnum):
    """Which evaluations a store records.

    ``best`` records the Pareto front of each search in energy and latency.
    """

    ALL = "all"
    BEST = "best"
    NONE = "none"


class Recording(Frozen, frozen=True):
    """How a run uses a store.

    ``record`` selects the evaluations to record; after ``limit`` of them in a search, only its best
    are recorded (``None``: no limit). A ``fresh`` run recomputes everything, including what the
    store has already. Results, and what later runs need for reuse, are recorded in any mode.
    """

    record: RecordMode = RecordMode.ALL
    limit: PositiveCount | None = RECORD_LIMIT
    fresh: bool = False


# --- what the user calls a run: its name and tags ---

LAST_RUN: Final = "last"
"""What the run, and the sweep, that was started last is called."""


class RunLabel(Frozen, frozen=True):
    """What the user calls a run: a name, which need not be unique, and any number of tags."""

    name: str | None = None
    tags: tuple[str, ...] = ()

    @classmethod
    def of(cls, name: str | None, tags: Sequence[str]) -> RunLabel:
        """The label with a name and the different ones of the tags.

        Raises:
            InputError: if the name or a tag is blank or no text, or the name means another run.
        """
        check_kind("name of a run", name, (str, NoneType), "a text")
        check_kind("tags of a run", tags, (list, tuple, set, frozenset), "a list of texts")
        if name is not None and name.strip().lower() in ("", LAST_RUN):
            other = f"a name other than {LAST_RUN!r}, which is the run that was started last"
            raise InputError("name of a run", repr(name), other)
        for tag in tags:
            check_kind("tag of a run", tag, (str,), "a text")
            if not tag.strip():
                raise InputError("tag of a run", repr(tag), "a tag that is not blank")
        label = None if name is None else name.strip()
        return cls(name=label, tags=tuple(dict.fromkeys(tag.strip() for tag in tags)))

    def __str__(self) -> str:
        """The name and the tags on one line; empty without both."""
        return " ".join([*([self.name] if self.name else []), *(f"#{tag}" for tag in self.tags)])


UNLABELED: Final = RunLabel()
"""The label of a run without a name and tags."""
