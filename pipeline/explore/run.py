"""Explorations while they run: what they are to do, who is told, where results go."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, Protocol, Self, TypeVar, final
from uuid import UUID, uuid4

from nestmap.model import EvaluationBatch, NetworkEvaluation, NetworkProblem
from nestmap.pipeline.explore.plan import SearchPlan
from nestmap.pipeline.stages.mapping.recall import Ledger

Result = TypeVar("Result")
Records = TypeVar("Records")


class Progress(Protocol):
    """Receives the progress of an exploration."""

    def start(self, network: NetworkProblem) -> None:
        """The exploration begins."""

    def observe(self, batch: EvaluationBatch) -> None:
        """One batch has been evaluated."""

    def recall(self, batch: EvaluationBatch) -> None:
        """A search need not be done again: the best it has found, with the statistics of all."""


@final
@dataclass(frozen=True, slots=True)
class RunHandle(Generic[Result, Records]):
    """An open run: ``finish`` takes its result, ``ledger`` what it finds on the way.

    The ledger also knows what was found before. Without one the run is not recorded.
    """

    id: UUID
    finish: Callable[[Result], None]
    ledger: Records | None

    @classmethod
    def unrecorded(cls) -> Self:
        """A run that is recorded nowhere."""
        return cls(uuid4(), _discard, None)


def _discard(result: object) -> None:
    """Records nothing."""


ExplorationRun = RunHandle[NetworkEvaluation, Ledger]
"""A run on one core: it ends with the best mapping of every layer."""


@final
@dataclass(frozen=True, slots=True)
class Job:
    """What an exploration is to do: ``pareto`` says whether it looks for fronts."""

    network: NetworkProblem
    plan: SearchPlan
    pareto: bool = False
