"""Reads a run from the store for pages, all at once."""

from dataclasses import dataclass
from functools import cached_property
from typing import final
from uuid import UUID

from nestmap.model import (
    InputError,
    LayerFront,
    LayerResult,
    NetworkEvaluation,
    NetworkFront,
    NetworkProblem,
    StoreError,
)
from nestmap.pipeline.format.runs import titled
from nestmap.store import RunInfo, RunRecord, RunStatus, Store


@final
@dataclass(frozen=True)
class ReportedRun:
    """A run with its results.

    ``evaluation`` has the results; for an incomplete run, the best found so far: then ``complete``
    is false, and layers may be missing. ``front`` is present if the run computed Pareto fronts.
    """

    record: RunRecord
    info: RunInfo
    evaluation: NetworkEvaluation
    front: NetworkFront | None = None

    @property
    def id(self) -> UUID:
        """The id of the run."""
        return self.record.id

    @property
    def complete(self) -> bool:
        """Whether these are the results of a completed run."""
        return self.record.status is RunStatus.DONE

    @property
    def network(self) -> NetworkProblem:
        """The inputs of the run."""
        return self.info.network

    @property
    def title(self) -> str:
        """The network and the accelerator, and what the user calls the run."""
        return titled(f"{self.record.workload} on {self.record.accelerator}", self.record.label)

    @property
    def anchor(self) -> str:
        """The prefix of the ids of its elements in a page."""
        return run_anchor(self.id)

    @cached_property
    def positions(self) -> dict[str, int]:
        """The position of each layer, from 1 on."""
        return {layer: place for place, layer in enumerate(self.results, start=1)}

    @cached_property
    def results(self) -> dict[str, LayerResult]:
        """The results by layer name."""
        return {result.cme.layer: result for result in self.evaluation.layers}

    @cached_property
    def fronts(self) -> dict[str, LayerFront]:
        """The Pareto fronts by layer name."""
        return {front.layer: front for front in self.front.layers} if self.front else {}

    def repeating(self, layer: str) -> tuple[str, ...]:
        """The layers that repeat this layer."""
        return tuple(name for name, x in self.results.items() if x.repeats == layer)

    def result(self, layer: str) -> LayerResult:
        """The result of a layer.

        Raises:
            InputError: if the run has none of that name.
        """
        if layer not in self.results:
            known = ", ".join(list(self.results)[:20])
            raise InputError(f"run {self.id}", f"no result of layer {layer!r}", f"one of {known}")
        return self.results[layer]


def run_anchor(run: UUID) -> str:
    """The prefix of the ids of a run's elements in a page."""
    return f"run-{run.hex[:12]}"


def read_reported(store: Store, run: UUID) -> ReportedRun:
    """Reads a run; for an incomplete one, the best results recorded so far.

    Raises:
        StoreError: if there is no such run.
        InputError: if it has no results and nothing was recorded.
    """
    record, info = store.run(run), store.info(run)
    done = record.status is RunStatus.DONE
    front = _front(store, record) if info.pareto or not done else None
    found = store.best(run) if done or front is None else front.best(record.objective)
    return ReportedRun(record, info, found, front if info.pareto else None)


def _front(store: Store, record: RunRecord) -> NetworkFront:
    try:
        return store.pareto(record.id)
    except StoreError:
        found = f"no results: it is {record.status}, and has recorded no evaluation"
        raise InputError(f"run {record.id}", found, "a run that is done") from None
