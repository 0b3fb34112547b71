"""Explorations of several cores while they run: what they are to do, who is told, who records."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, final

from nestmap.model.multicore.problem import SplitProblem, StreamProblem
from nestmap.model.multicore.schedule import Schedule
from nestmap.pipeline.explore.run import RunHandle
from nestmap.pipeline.multicore.plan import StreamPlan
from nestmap.pipeline.stages.multicore.constraint import BoundLedger, ProofObserver
from nestmap.pipeline.stages.multicore.cost_ledger import CostLedger
from nestmap.pipeline.stages.multicore.inter_core import GenerationLedger, SearchObserver
from nestmap.pipeline.stages.multicore.intra_core import ProblemLedger


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


ScheduleRun = RunHandle[Schedule, StreamLedger]
"""A run on several cores: it ends with the schedule that is reported."""


@final
@dataclass(frozen=True, slots=True)
class StreamJob:
    """What is to be done: a problem, how, and on how many threads or processes."""

    problem: StreamProblem
    plan: StreamPlan
    workers: int = 1
