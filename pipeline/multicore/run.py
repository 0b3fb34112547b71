"""The job of an exploration on several cores, and its ports for progress and recording."""

from dataclasses import dataclass
from typing import Protocol, final

from nestmap.model.evaluation.recording import UNLABELED, RunLabel
from nestmap.model.multicore.problem import SplitProblem, StreamProblem
from nestmap.model.multicore.schedule import Schedule
from nestmap.pipeline.explore.run import RunHandle
from nestmap.pipeline.multicore.plan import StreamPlan
from nestmap.pipeline.stages.multicore.constraint import BoundLedger, ProofObserver
from nestmap.pipeline.stages.multicore.inter_core import GenerationLedger, SearchObserver
from nestmap.pipeline.stages.multicore.intra_core import CostLedger, ProblemLedger


class StreamProgress(ProofObserver, SearchObserver, Protocol):
    """Receives the progress of an exploration on several cores."""

    def split(self, split: SplitProblem) -> None:
        """The network is split; the costs of its nodes are searched next."""

    def costed(self, done: int, of: int) -> None:
        """This many of the costs are known."""


class StreamLedger(CostLedger, ProblemLedger, BoundLedger, GenerationLedger, Protocol):
    """Records the results of the stages, and returns those of earlier runs."""


@final
@dataclass(frozen=True, slots=True)
class StreamPorts:
    """The ledger that a pipeline records to and the observer of its progress, if any."""

    ledger: StreamLedger | None = None
    progress: StreamProgress | None = None


ScheduleRun = RunHandle[Schedule, StreamLedger]
"""A run on several cores; its result is the reported schedule."""


@final
@dataclass(frozen=True, slots=True)
class StreamJob:
    """A problem, the plan for it, the number of threads or processes, and the name of the run."""

    problem: StreamProblem
    plan: StreamPlan
    workers: int = 1
    label: RunLabel = UNLABELED
