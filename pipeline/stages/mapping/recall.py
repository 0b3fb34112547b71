"""The stage that repeats no search: what a ledger knows is recalled, the rest is recorded."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol, final

from nestmap.model import CostModelEvaluation, EvaluationBatch, SpatialProblem, TemporalMapping
from nestmap.pipeline.stage_graph import Stage


class Entry(Protocol):
    """A search that a ledger records."""

    def record(self, batch: EvaluationBatch) -> None:
        """The next evaluations."""


class Ledger(Protocol):
    """Records searches, and knows earlier ones."""

    def recall(self, spatial: SpatialProblem) -> Iterable[EvaluationBatch] | None:
        """Of a search done before the evaluations that no other one beats; else ``None``."""
        ...

    def searching(self, spatial: SpatialProblem) -> AbstractContextManager[Entry]:
        """A search to record; it is complete where the block ends without an error."""
        ...

    def cost(self, spatial: SpatialProblem, mapping: TemporalMapping) -> CostModelEvaluation:
        """What a mapping costs, recalled or computed."""
        ...


@final
@dataclass(frozen=True, slots=True)
class RecallStage(Stage[SpatialProblem, Iterator[EvaluationBatch]]):
    """``inner``, a search, unless the ledger knows what it finds; without one always the search.

    What is recalled are the evaluations that no other one of the search beats in energy and
    latency, with the statistics of all: reducers that look for the least energy, latency or product
    of both, or for the front, find the same in them as in all.
    """

    inner: Stage[SpatialProblem, Iterator[EvaluationBatch]]
    ledger: Ledger | None

    def __call__(self, spatial: SpatialProblem, /) -> Iterator[EvaluationBatch]:
        return self.inner(spatial) if self.ledger is None else self._recalled(spatial, self.ledger)

    def _recalled(self, spatial: SpatialProblem, ledger: Ledger) -> Iterator[EvaluationBatch]:
        known = ledger.recall(spatial)
        if known is not None:
            yield from known
            return
        with ledger.searching(spatial) as entry:
            for batch in self.inner(spatial):
                entry.record(batch)
                yield batch
