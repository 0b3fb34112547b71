"""The stage that passes evaluations to observers, such as a progress bar."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol, final, runtime_checkable

from nestmap.model import EvaluationBatch
from nestmap.pipeline.stage_graph import Stage
from nestmap.search.temporal.exact.walk import WalkState, Watch


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
