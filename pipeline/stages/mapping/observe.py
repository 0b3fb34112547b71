"""A stage that lets others watch a stream: progress bars, the store."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol, final

from nestmap.model import EvaluationBatch
from nestmap.pipeline.stage_graph import Stage


class Observer(Protocol):
    """Receives every evaluation."""

    def observe(self, batch: EvaluationBatch) -> None:
        """One batch that has left the cost model."""


@final
@dataclass(frozen=True, slots=True)
class ObserveStage(Stage[Iterable[EvaluationBatch], Iterator[EvaluationBatch]]):
    """A stream passed on unchanged, shown to the observers on the way."""

    observers: tuple[Observer, ...]

    def __call__(self, batches: Iterable[EvaluationBatch], /) -> Iterator[EvaluationBatch]:
        for batch in batches:
            for observer in self.observers:
                observer.observe(batch)
            yield batch
