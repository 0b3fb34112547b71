"""Explorations of several cores while they run: who is told how far they are, who keeps what."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, final
from uuid import UUID, uuid4

from nestmap.model.multicore.bound import StreamBound
from nestmap.model.multicore.population import Generation, Individual
from nestmap.model.multicore.problem import SplitProblem, StreamProblem
from nestmap.model.multicore.schedule import Schedule, ScheduleProblem
from nestmap.pipeline.multicore.plan import StreamPlan
from nestmap.pipeline.stages.multicore.cost_ledger import CostLedger

if TYPE_CHECKING:
    from nestmap.store import Store


class StreamProgress(Protocol):
    """Who wants to know how far an exploration of several cores is."""

    def split(self, split: SplitProblem) -> None:
        """The network is split; what its nodes cost is searched now."""

    def costed(self, done: int, of: int) -> None:
        """So many of the costs are known."""

    def prove(self, problem: ScheduleProblem) -> None:
        """All costs are known; the search by constraints begins."""

    def search(self, problem: ScheduleProblem, generations: int) -> None:
        """All costs are known; so many generations after the first one are looked at."""

    def observe(self, generation: Generation) -> None:
        """A generation has come to its end."""


class KeptStream(Protocol):
    """A run of several cores as far as the facade sees it."""

    @property
    def id(self) -> UUID:
        """Under which the store keeps the run."""
        ...

    def begin(self, problem: ScheduleProblem) -> None:
        """The nodes are known, and what they cost."""

    def newest(self) -> Generation | None:
        """The generation that was recorded last, if there is one."""
        ...

    def scheduled(self) -> tuple[Individual, ...]:
        """All allocations that were scheduled in the recorded generations."""
        ...

    def record(self, generation: Generation) -> None:
        """A generation has come to its end."""

    def bound(self) -> StreamBound | None:
        """What the search by constraints has found, if it has come to its end."""
        ...

    def record_bound(self, found: StreamBound) -> None:
        """The search by constraints has come to its end."""

    def finish(self, schedule: Schedule) -> None:
        """This is what is reported."""


@final
class UnrecordedStream:
    """A run of several cores that nobody keeps."""

    def __init__(self) -> None:
        self.id = uuid4()

    def begin(self, problem: ScheduleProblem) -> None:
        """Nothing to write."""

    def newest(self) -> None:
        """Nobody has recorded one."""

    def scheduled(self) -> tuple[Individual, ...]:
        """Nobody has recorded any."""
        return ()

    def record(self, generation: Generation) -> None:
        """Nothing to write."""

    def bound(self) -> None:
        """Nobody has recorded it."""

    def record_bound(self, found: StreamBound) -> None:
        """Nothing to write."""

    def finish(self, schedule: Schedule) -> None:
        """Nothing to write."""


@final
@dataclass(frozen=True, slots=True)
class StreamKept:
    """A run, and who knows what nodes cost; nobody where it is not recorded."""

    run: KeptStream
    ledger: CostLedger | None


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
