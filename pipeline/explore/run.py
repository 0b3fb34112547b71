"""Explorations while they run: who sees every evaluation, and where they are recorded."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, final
from uuid import UUID, uuid4

from nestmap.model import EvaluationBatch, NetworkEvaluation, NetworkProblem, Recording
from nestmap.pipeline.explore.plan import SearchPlan
from nestmap.pipeline.stages.mapping.recall import Ledger

if TYPE_CHECKING:
    from nestmap.store import Store


class Progress(Protocol):
    """Who wants to know how far an exploration is."""

    def start(self, network: NetworkProblem) -> None:
        """The exploration begins."""

    def observe(self, batch: EvaluationBatch) -> None:
        """One batch has been evaluated."""

    def recall(self, batch: EvaluationBatch) -> None:
        """A search need not be done again: the best it has found, with the statistics of all."""


class KeptRun(Protocol):
    """A run as far as the facade sees it."""

    @property
    def id(self) -> UUID:
        """Under which the store keeps the run."""
        ...

    def finish(self, results: NetworkEvaluation) -> None:
        """The exploration is done, and this is what it found."""


@final
class Unrecorded:
    """A run that nobody keeps."""

    def __init__(self) -> None:
        self.id = uuid4()

    def finish(self, results: NetworkEvaluation) -> None:
        """Nothing to write."""


@final
@dataclass(frozen=True, slots=True)
class Kept:
    """A run, and who knows what was searched before; nobody where it is not recorded."""

    run: KeptRun
    ledger: Ledger | None


@final
@dataclass(frozen=True, slots=True)
class Job:
    """What an exploration is to do: ``pareto`` says whether it looks for fronts."""

    network: NetworkProblem
    plan: SearchPlan
    pareto: bool = False


@contextmanager
def begun(
    job: Job,
    store: Store | Path | str | None,
    recording: Recording,
    progress: Progress | None,
) -> Generator[Kept]:
    """A run that has begun, in a store where one is given.

    Raises:
        StoreError: where the store cannot be opened or written.
    """
    if progress is not None:
        progress.start(job.network)
    if store is None:
        yield Kept(Unrecorded(), None)
        return
    # the store is opened only when asked for: DuckDB takes long to import
    from nestmap.pipeline.explore.recording import recorded  # noqa: PLC0415

    with recorded(job, store, recording, progress) as kept:
        yield kept
