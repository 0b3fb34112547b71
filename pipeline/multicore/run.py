"""Explorations of several cores while they run: who is told how far they are, who keeps what."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, final
from uuid import UUID, uuid4

from nestmap.model.multicore.problem import SplitProblem, StreamProblem
from nestmap.model.multicore.schedule import Schedule
from nestmap.pipeline.multicore.plan import StreamPlan
from nestmap.pipeline.stages.multicore.constraint import BoundLedger, ProofObserver
from nestmap.pipeline.stages.multicore.cost_ledger import CostLedger
from nestmap.pipeline.stages.multicore.inter_core import GenerationLedger, SearchObserver
from nestmap.pipeline.stages.multicore.intra_core import ProblemLedger

if TYPE_CHECKING:
    from nestmap.store import Store


class StreamProgress(ProofObserver, SearchObserver, Protocol):
    """Receives the progress of an exploration of several cores."""

    def split(self, split: SplitProblem) -> None:
        """The network is split; the costs of its nodes are searched next."""

    def costed(self, done: int, of: int) -> None:
        """This many of the costs are known."""


class StreamLedger(CostLedger, ProblemLedger, BoundLedger, GenerationLedger, Protocol):
    """Records what the stages find, and knows what they have found before."""


@final
@dataclass(frozen=True, slots=True)
class StreamPorts:
    """What a pipeline records to and reports to while it runs; ``None``: nothing."""

    ledger: StreamLedger | None = None
    progress: StreamProgress | None = None


class KeptStream(Protocol):
    """A run of several cores as far as the facade sees it."""

    @property
    def id(self) -> UUID:
        """Under which the store keeps the run."""
        ...

    def finish(self, schedule: Schedule) -> None:
        """This is what is reported."""


@final
class UnrecordedStream:
    """A run of several cores that nobody keeps."""

    def __init__(self) -> None:
        self.id = uuid4()

    def finish(self, schedule: Schedule) -> None:
        """Nothing to write."""


@final
@dataclass(frozen=True, slots=True)
class StreamKept:
    """A run with its ledger; ``None`` where it is not recorded."""

    run: KeptStream
    ledger: StreamLedger | None


@final
@dataclass(frozen=True, slots=True)
class StreamJob:
    """What is to be done: a problem, how, and on how many threads or processes."""

    problem: StreamProblem
    plan: StreamPlan
    workers: int = 1


@contextmanager
def begun_stream(job: StreamJob, store: Store | Path | str | None) -> Generator[StreamKept]:
    """A run of several cores that has begun, in a store where one is given.

    Raises:
        StoreError: where the store cannot be opened or written.
    """
    if store is None:
        yield StreamKept(UnrecordedStream(), None)
        return
    # the store is opened only when asked for: DuckDB takes long to import
    from nestmap.pipeline.multicore.recording import recorded_run  # noqa: PLC0415

    with recorded_run(job, store) as kept:
        yield kept
