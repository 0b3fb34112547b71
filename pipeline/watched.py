"""Explorations while they run: who sees every evaluation, and where they are recorded."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeVar, final
from uuid import UUID, uuid4

from nestmap.model import EvaluationBatch, NetworkEvaluation, NetworkProblem
from nestmap.pipeline.describe import describe
from nestmap.pipeline.plan import SearchPlan
from nestmap.pipeline.stage import Stage
from nestmap.pipeline.stages.observe import Observer

if TYPE_CHECKING:
    from nestmap.store import Store

A = TypeVar("A")


class Progress(Protocol):
    """Who wants to know how far an exploration is."""

    def start(self, network: NetworkProblem) -> None:
        """The exploration begins."""

    def observe(self, batch: EvaluationBatch) -> None:
        """One batch has been evaluated."""


class Recording(Protocol):
    """A run as far as the facade sees it."""

    @property
    def id(self) -> UUID: ...

    def finish(self, results: NetworkEvaluation) -> None: ...


@final
class Unrecorded:
    """A run that nobody keeps."""

    def __init__(self) -> None:
        self.id = uuid4()

    def finish(self, results: NetworkEvaluation) -> None:
        """Nothing to write."""


@contextmanager
def watched(
    network: NetworkProblem,
    plan: SearchPlan,
    pipeline: Callable[[SearchPlan, tuple[Observer, ...]], Stage[NetworkProblem, A]],
    store: Store | Path | str | None,
    progress: Progress | None,
) -> Generator[tuple[Recording, Stage[NetworkProblem, A]]]:
    """The pipeline with whoever watches it, and the run that it is recorded in."""
    watching: tuple[Observer, ...] = ()
    if progress is not None:
        progress.start(network)
        watching = (progress,)
    if store is None:
        yield Unrecorded(), pipeline(plan, watching)
        return
    # the store is opened only when asked for: DuckDB takes long to import
    from nestmap.pipeline.recording import Recorder, recording  # noqa: PLC0415

    with recording(store, network, plan.objective, describe(pipeline(plan, ()))) as run:
        yield run, pipeline(plan, (*watching, Recorder(run)))
