"""What a run need not compute again, because the store knows it or the run itself has done it."""

from __future__ import annotations

from typing import NamedTuple, final

from nestmap.model import CostModelEvaluation, EvaluationBatch
from nestmap.store.connection.database import Database
from nestmap.store.read.completed_searches import (
    CompletedSearch,
    SearchScope,
    read_completed_search,
    read_completed_searches,
)
from nestmap.store.record.search import Search
from nestmap.store.rows.cmes import read_cme
from nestmap.store.rows.run_records import RunInfo, SearchInfo


class Reused(NamedTuple):
    """A search that need not be done again: its id, and its front with the statistics of all.

    It is not ``recalled`` where it is one that the run itself did before it was interrupted.
    """

    id: int
    batches: tuple[EvaluationBatch, ...]
    recalled: bool


@final
class ReuseCache:
    """Completed searches, and evaluations in full.

    What other runs have recorded counts as of the first question, and not at all where the run is
    to compute everything again.
    """

    def __init__(self, database: Database, info: RunInfo) -> None:
        self._database = database
        self._info = info
        self._done: dict[str, Search] = {}
        self._known: dict[tuple[str, str], dict[str, CompletedSearch]] = {}

    def add(self, search: Search) -> None:
        """Keeps a search that this run has completed."""
        self._done[search.info.key] = search

    def find(self, info: SearchInfo, number: int) -> Reused | None:
        """The result of a search, if it is known; ``number`` is the id it has in this run.

        Raises:
            StoreError: if the store cannot be read.
        """
        if info.key in self._done:
            done = self._done[info.key]
            return Reused(done.id, done.front(), recalled=True)
        known = self._read_own(number) if self._is_fresh else self._read_known(info)
        if known is None:
            return None
        return Reused(known.id, known.batches(info.spatial), recalled=known.id != number)

    def find_cme(self, key: str) -> CostModelEvaluation | None:
        """The whole evaluation of a mapping, under any name of its layer, if the store has it."""
        if self._is_fresh:
            return None
        with self._database.use() as connection:
            return read_cme(connection, key)

    @property
    def _is_fresh(self) -> bool:
        return self._info.recording.fresh

    def _read_own(self, number: int) -> CompletedSearch | None:
        """A search that this run itself has completed before it was interrupted."""
        with self._database.use() as connection:
            return read_completed_search(connection, number)

    def _read_known(self, info: SearchInfo) -> CompletedSearch | None:
        """A search of any run, completed before this run first asked for one like it."""
        kind = info.spatial.accelerator.content_hash, info.options
        if kind not in self._known:
            workload = self._info.network.workload.content_hash
            scope = SearchScope(workload, *kind, self._info.recording)
            with self._database.use() as connection:
                self._known[kind] = read_completed_searches(connection, scope)
        return self._known[kind].get(info.key)
