"""A sweep that is being recorded: what the store has of it, and what is new."""

from collections.abc import Sequence
from itertools import chain
from time import monotonic
from typing import Final, final

from nestmap.model.design_space.result import DesignResult
from nestmap.store.connection.connect import transaction
from nestmap.store.connection.database import Database
from nestmap.store.connection.interrupts import defer_interrupts
from nestmap.store.read.sweeps import (
    KnownFigures,
    read_designs,
    read_known_figures,
    read_state,
    shares_figures,
)
from nestmap.store.rows.sweeps import (
    DesignRow,
    SweepInfo,
    SweepRecord,
    SweepState,
    forget_cut_designs,
    utc_now,
    write_designs,
    write_sweep,
)

SECONDS_OF_WORK: Final = 1.0
"""At most so much time is between the commits of a sweep in which designs are explored."""


@final
class RecordedSweep:
    """Records the designs of a sweep in their order, each once.

    The order and the figures of designs follow from the question. So a sweep that is started again
    goes on after the designs that the store has, and two processes that record the same sweep
    record the same rows.
    """

    def __init__(self, database: Database, info: SweepInfo) -> None:
        self._database = database
        self.info = info
        self._designs: list[tuple[DesignRow, ...]] = []
        self._committed_at = monotonic()
        with database.read() as connection:
            with transaction(connection):
                forget_cut_designs(connection, info.key)
            known = read_state(connection, info.key)
            self._is_sharing = shares_figures(connection, info)
        self._started = utc_now() if known is None else known.started
        self.recorded = 0 if known is None else known.state.designs
        """The number of designs that the store has."""
        if known is None:
            self._write(SweepState())

    @property
    def designs_added(self) -> int:
        """The number of designs that the store has or was given."""
        return self.recorded + len(self._designs)

    @property
    def is_due(self) -> bool:
        """Whether designs have waited long enough for a commit."""
        return bool(self._designs) and monotonic() - self._committed_at > SECONDS_OF_WORK

    def designs(self, places: range) -> list[tuple[DesignResult, ...]]:
        """The rows of each of these designs, given their places in the order of designs.

        Raises:
            StoreError: if they cannot be read.
        """
        record = SweepRecord(info=self.info, started=self._started, state=SweepState())
        with self._database.read() as connection:
            each = len(self.info.mapped_for)
            positions = range(places.start * each, places.stop * each)
            rows = tuple(read_designs(connection, record, positions))
        return [rows[n : n + each] for n in range(0, len(rows), each)]

    def known_figures(self, accelerators: Sequence[str]) -> KnownFigures:
        """What other sweeps have found on accelerators, given their content hashes.

        Raises:
            StoreError: if it cannot be read.
        """
        with self._database.read() as connection:
            return read_known_figures(connection, self.info.methods, accelerators)

    @property
    def is_sharing(self) -> bool:
        """Whether other sweeps have explored a network in the same way."""
        return self._is_sharing

    def add(self, rows: tuple[DesignRow, ...]) -> None:
        """Takes the next design in, mapped for each objective in turn; a commit writes it."""
        self._designs.append(rows)

    def commit(self, front: Sequence[int], rejected: int | None = None) -> None:
        """Writes the designs that were added, and how far the sweep is.

        Args:
            front: the positions of the rows on the front.
            rejected: the number of designs that do not meet the constraints, once it is complete.

        Raises:
            StoreError: if that cannot be written.
        """
        if self._designs or rejected is not None:
            state = SweepState(designs=self.designs_added, front=tuple(front), rejected=rejected)
            self._write(state)

    def _write(self, state: SweepState) -> None:
        """Writes what the store does not have; another process may have recorded the same."""
        with self._database.read() as connection, defer_interrupts():
            with transaction(connection):
                known = read_state(connection, self.info.key)
                there = 0 if known is None else known.state.designs
                new = list(chain(*self._designs[max(there - self.recorded, 0) :]))
                if new:
                    first = max(there, self.recorded) * len(self.info.mapped_for)
                    write_designs(connection, self.info.key, first, new)
                if known is None or _is_further(state, known.state):
                    write_sweep(connection, self.info, self._started, state)
            self.recorded, self._designs = state.designs, []
        self._committed_at = monotonic()


def _is_further(state: SweepState, known: SweepState) -> bool:
    return (state.designs, state.is_complete) > (known.designs, known.is_complete)
