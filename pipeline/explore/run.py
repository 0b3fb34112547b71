"""The job of an exploration, its progress protocol, and the handle of its run."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, Never, Protocol, Self, TypeVar, final
from uuid import UUID, uuid4

from nestmap.model import EvaluationBatch, NetworkEvaluation, NetworkProblem, RunLabel
from nestmap.model.evaluation.recording import UNLABELED
from nestmap.pipeline.describe import stages_json
from nestmap.pipeline.explore.plan import SearchPlan
from nestmap.pipeline.stage_graph import Stage
from nestmap.pipeline.stages.mapping.recall import LayerLedger

Result = TypeVar("Result")
Records = TypeVar("Records")


class Progress(Protocol):
    """Receives the progress of an exploration."""

    def start(self, network: NetworkProblem) -> None:
        """The exploration begins."""

    def observe(self, batch: EvaluationBatch) -> None:
        """One batch has been evaluated."""

    def recall(self, batch: EvaluationBatch) -> None:
        """The store holds the search already: its Pareto front, with the statistics of all."""


@final
@dataclass(frozen=True, slots=True)
class RunHandle(Generic[Result, Records]):
    """An open run: ``finish`` records its result, ``ledger`` its intermediate results.

    ``record_stages`` records the pipeline that runs, described as JSON. The ledger also returns the
    results of earlier runs. Without one, the run is not recorded.
    """

    id: UUID
    record_stages: Callable[[str], None]
    finish: Callable[[Result], None]
    ledger: Records | None

    @classmethod
    def unrecorded(cls) -> Self:
        """A run that is not recorded."""
        return cls(uuid4(), _discard, _discard, None)

    def record_pipeline(self, pipeline: Stage[Never, object]) -> None:
        """Records the pipeline that runs, before it does."""
        if self.ledger is not None:
            self.record_stages(stages_json(pipeline))


def _discard(result: object) -> None:
    """Records nothing."""


ExplorationRun = RunHandle[NetworkEvaluation, LayerLedger]
"""A run on one core; its result is the best mapping of every layer."""


@final
@dataclass(frozen=True, slots=True)
class Job:
    """The network and plan of an exploration; with ``pareto`` it searches for Pareto fronts.

    ``label`` is what the store calls its run.
    """

    network: NetworkProblem
    plan: SearchPlan
    pareto: bool = False
    label: RunLabel = UNLABELED
