"""The stage that passes evaluations to observers, such as a progress bar."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol, final

from nestmap.model import EvaluationBatch
from nestmap.pipeline.stage_graph import Stage


class Observer(Protocol):
    """Receives every evaluation."""

    def observe(self, batch: EvaluationBatch) -> None:
        """One batch has been evaluated."""


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
