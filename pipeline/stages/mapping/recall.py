"""The stage that reuses recorded searches, and records new ones."""

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
        """Records the next evaluations."""


class Ledger(Protocol):
    """Records searches, and returns the results of earlier ones.

    ``options`` are those of the search as JSON: a search with other options is another one.
    """

    def recall(self, spatial: SpatialProblem, options: str) -> Iterable[EvaluationBatch] | None:
        """The Pareto front of an earlier search, or ``None`` if it was not searched."""
        ...

    def searching(self, spatial: SpatialProblem, options: str) -> AbstractContextManager[Entry]:
        """Records a search; it is complete if the block ends without an error."""
        ...

    def cost(self, spatial: SpatialProblem, mapping: TemporalMapping) -> CostModelEvaluation:
        """The evaluation of a mapping, reused or computed."""
        ...


@final
@dataclass(frozen=True, slots=True)
class RecallStage(Stage[SpatialProblem, Iterator[EvaluationBatch]]):
    """Runs ``inner``, a search with these ``options``, unless the ledger holds its result.

    A reused search yields only its Pareto front in energy and latency, with the statistics of the
    whole search. Reducers that minimize energy, latency or their product, or that compute the
    front, give the same result for the front as for all evaluations.
    """

    inner: Stage[SpatialProblem, Iterator[EvaluationBatch]]
    ledger: Ledger | None
    options: str = "{}"

    def __call__(self, spatial: SpatialProblem, /) -> Iterator[EvaluationBatch]:
        return self.inner(spatial) if self.ledger is None else self._recalled(spatial, self.ledger)

    def _recalled(self, spatial: SpatialProblem, ledger: Ledger) -> Iterator[EvaluationBatch]:
        known = ledger.recall(spatial, self.options)
        if known is not None:
            yield from known
            return
        with ledger.searching(spatial, self.options) as entry:
            for batch in self.inner(spatial):
                entry.record(batch)
                yield batch
