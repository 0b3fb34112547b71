"""The stages that reuse recorded searches and layers, and record new ones."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Never, Protocol, final, runtime_checkable

from nestmap.model import (
    CostModelEvaluation,
    EvaluationBatch,
    MappingProblem,
    SpatialProblem,
    TemporalMapping,
)
from nestmap.pipeline.stage_graph import Stage
from nestmap.search.temporal.exact.walk import WalkState, Watch

Explore = Stage[MappingProblem, EvaluationBatch]
"""The exploration of a layer."""

Choose = Stage[Iterable[EvaluationBatch], EvaluationBatch]
"""The choice of the best evaluation."""


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


class LayerLedger(Ledger, Protocol):
    """A ledger that also records what runs found for whole layers."""

    def explored(
        self, problem: MappingProblem, options: str, explore: Explore, choose: Choose
    ) -> EvaluationBatch:
        """The best evaluation of a layer.

        If a finished run has explored the layer with these options, the best that ``choose`` finds
        among what it kept; otherwise the result of ``explore``.
        """
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


@final
@dataclass(frozen=True, slots=True)
class RecallLayerStage(Stage[MappingProblem, EvaluationBatch]):
    """Runs ``inner``, the exploration of a layer, unless the ledger holds its result.

    A reused layer takes neither spatial mappings nor their lower bounds. ``choose`` is the reducer
    of ``inner``, ``options`` are those of the exploration.
    """

    inner: Explore
    choose: Choose
    ledger: LayerLedger | None
    options: str = "{}"

    def __call__(self, problem: MappingProblem, /) -> EvaluationBatch:
        if self.ledger is None:
            return self.inner(problem)
        return self.ledger.explored(problem, self.options, self.inner, self.choose)

    def inner_stages(self) -> tuple[Stage[Never, object], ...]:
        """``inner``, which ends with ``choose``."""
        return (self.inner,)


# --- the stage that passes evaluations to observers, such as a progress bar ---


class Observer(Protocol):
    """Receives every evaluation."""

    def observe(self, batch: EvaluationBatch) -> None:
        """One batch has been evaluated."""


@runtime_checkable
class WalkObserver(Protocol):
    """An observer that also receives how far the walk over all spatial mappings of a layer is."""

    def walked(self, state: WalkState) -> None:
        """Some more spatial mappings are searched; most of them without an evaluation."""


def watch_for(observers: Iterable[Observer]) -> Watch | None:
    """What tells observers how far a walk is; ``None`` if none wants to know."""
    watching = [x for x in observers if isinstance(x, WalkObserver)]

    def tell(state: WalkState) -> None:
        for observer in watching:
            observer.walked(state)

    return tell if watching else None


@final
@dataclass(frozen=True, slots=True)
class ObserveStage(Stage[Iterable[EvaluationBatch], Iterator[EvaluationBatch]]):
    """Passes a stream on unchanged, and each batch to the observers."""

    observers: tuple[Observer, ...]

    def __call__(self, batches: Iterable[EvaluationBatch], /) -> Iterator[EvaluationBatch]:
        for batch in batches:
            for observer in self.observers:
                observer.observe(batch)
            yield batch
