"""The ports of searches: observers of evaluations, and the ledger that recalls and records."""

import json
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Final, Generic, Never, Protocol, TypeAlias, TypeVar, final, runtime_checkable

from nestmap.costmodel.evaluate import evaluate
from nestmap.model import (
    CostModelEvaluation,
    EvaluationBatch,
    MappingProblem,
    SpatialProblem,
    TemporalMapping,
)
from nestmap.pipeline.stage_graph import Stage
from nestmap.pipeline.stages.mapping.reduce import Costing
from nestmap.search.temporal.exact.search import SearchTask
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


Item = TypeVar("Item", SpatialProblem, SearchTask)
"""A spatial mapping to search, alone or with what is known of others."""

Batches: TypeAlias = Iterator[EvaluationBatch]
"""The evaluations of a search."""


@final
@dataclass(frozen=True, slots=True)
class RecallStage(Stage[Item, Batches], Generic[Item]):
    """Runs ``inner``, a search with these ``options``, unless the ledger holds its result.

    A reused search yields only its Pareto front in energy and latency, with the statistics of the
    whole search. Reducers that minimize energy, latency or their product, or that compute the
    front, give the same result for the front as for all evaluations.
    """

    inner: Stage[Item, Batches]
    ledger: Ledger | None
    options: str = "{}"

    def __call__(self, item: Item, /) -> Batches:
        return self.inner(item) if self.ledger is None else self._recalled(item, self.ledger)

    def _recalled(self, item: Item, ledger: Ledger) -> Batches:
        spatial, options = self._recorded(item)
        known = ledger.recall(spatial, options)
        if known is not None:
            yield from known
            return
        with ledger.searching(spatial, options) as entry:
            for batch in self.inner(item):
                entry.record(batch)
                yield batch

    def _recorded(self, item: SpatialProblem | SearchTask) -> tuple[SpatialProblem, str]:
        """What is searched, and all that determines the result, as JSON."""
        if isinstance(item, SpatialProblem):
            return item, self.options
        known = {"incumbents": item.incumbents, "start": item.start, "labels": item.labels}
        return item.spatial, json.dumps({**json.loads(self.options), "task": known})


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


@final
@dataclass(frozen=True, slots=True)
class Ports:
    """The outside of a pipeline: observers of all evaluations, and the ledger of its run."""

    observers: tuple[Observer, ...] = ()
    ledger: LayerLedger | None = None

    def connect(self, found: Stage[Item, Batches], options: str) -> Stage[Item, Batches]:
        """A search with these options, observed, recorded and recalled."""
        return RecallStage(found >> ObserveStage(self.observers), self.ledger, options)

    @property
    def watch(self) -> Watch | None:
        """Tells observers how far a walk is; ``None`` if none wants to know."""
        watching = [x for x in self.observers if isinstance(x, WalkObserver)]

        def tell(state: WalkState) -> None:
            for observer in watching:
                observer.walked(state)

        return tell if watching else None

    @property
    def cost(self) -> Costing:
        """The function that evaluates a mapping: the ledger if there is one, else the model."""
        return evaluate if self.ledger is None else self.ledger.cost


UNCONNECTED: Final = Ports()
"""Nothing is observed, recorded or recalled."""
