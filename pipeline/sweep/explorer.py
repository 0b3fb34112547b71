"""Explores the networks of a sweep on designs, each different accelerator once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from functools import partial
from threading import Event, Lock
from typing import TYPE_CHECKING, Final, TypeAlias, final

from nestmap.costmodel.area_leakage import total_area
from nestmap.model import (
    Accelerator,
    EvaluationBatch,
    InfeasibleError,
    InfeasibleLayer,
    InputError,
    NetworkEvaluation,
    NetworkProblem,
    Recording,
    RunLabel,
)
from nestmap.model.design_space.design import Design
from nestmap.model.design_space.result import DesignResult, NetworkFigures
from nestmap.model.design_space.space import WeightedNetwork
from nestmap.pipeline.explore.api import explore_network
from nestmap.pipeline.explore.plan import SearchPlan, exploration_pipeline
from nestmap.pipeline.sweep.checked_space import CheckedSpace
from nestmap.pipeline.sweep.explore_designs import ExploreDesigns
from nestmap.pipeline.sweep.shared_layers import SharedLayers
from nestmap.search.parallel import map_in_order

if TYPE_CHECKING:
    from nestmap.store import Store

TAG: Final = "sweep:"
"""What the tags of a sweep's runs begin with, before its name."""

Outcome: TypeAlias = tuple[NetworkFigures, ...] | str
"""The figures of the networks, or the reason why there are none."""

ExploreAll: TypeAlias = Callable[[Design, Sequence[NetworkProblem]], Iterator[NetworkEvaluation]]
"""Explores the networks of a design, one after the other."""


class _StoppedError(Exception):
    """The sweep is over: its other results are not wanted."""


def unrecorded_explorer(checked: CheckedSpace, plan: SearchPlan, workers: int) -> ExploreDesigns:
    """Explores designs on several threads without a store."""
    stopped = Event()
    explorer = _Explorer(checked, partial(_unrecorded, plan, _StopObserver(stopped)))

    def explore(designs: Sequence[Design]) -> Iterator[DesignResult]:
        stopped.clear()
        return map_in_order(explorer, designs, workers, stopped.set)

    return explore


def design_explorer(checked: CheckedSpace, plan: SearchPlan) -> Callable[[Design], DesignResult]:
    """Explores one design after the other, without a store."""
    return _Explorer(checked, partial(_unrecorded, plan, _StopObserver(Event())))


def recording_explorer(
    checked: CheckedSpace,
    plan: SearchPlan,
    store: Store,
    recording: Recording,
    tags: tuple[str, ...],
) -> ExploreDesigns:
    """Explores designs such that each accelerator and network is a run of the store.

    Designs follow one another; the plan's own threads explore each. Layers that finished runs have
    explored are reused. ``tags`` are those of the runs.
    """
    named = (checked.space.name, tags)
    return partial(map, _Explorer(checked, partial(_recorded, named, plan, store, recording)))


def _unrecorded(
    plan: SearchPlan, observer: _StopObserver, design: Design, problems: Sequence[NetworkProblem]
) -> Iterator[NetworkEvaluation]:
    ledger = SharedLayers() if len(problems) > 1 else None
    pipeline = exploration_pipeline(plan, (observer,), ledger)
    return map(pipeline, problems)


def _recorded(
    named: tuple[str, tuple[str, ...]],
    plan: SearchPlan,
    store: Store,
    recording: Recording,
    design: Design,
    problems: Sequence[NetworkProblem],
) -> Iterator[NetworkEvaluation]:
    name, tags = named
    label = RunLabel.of(f"{name}/{design.number}", tags)
    for problem in problems:
        found = explore_network(problem, plan, store=store, label=label, recording=recording)
        yield found.total


@final
@dataclass(frozen=True, slots=True)
class _StopObserver:
    """Ends explorations that other threads have not finished when the sweep is over."""

    stopped: Event

    def observe(self, batch: EvaluationBatch) -> None:
        """One batch has been evaluated."""
        if self.stopped.is_set():
            raise _StoppedError


@final
@dataclass(frozen=True, slots=True)
class _Explorer:
    """Explores designs; those with equal accelerators share the outcome."""

    checked: CheckedSpace
    explore: ExploreAll
    outcomes: dict[str, Future[Outcome]] = field(default_factory=dict[str, "Future[Outcome]"])
    lock: Lock = field(default_factory=Lock)

    def __call__(self, design: Design) -> DesignResult:
        row = DesignResult(
            aggregate=self.checked.space.aggregate,
            number=design.number,
            parameters=design.parameters,
            reason="",
        )
        try:
            accelerator = self.checked.accelerator(design)
        except InputError as error:
            return row.model_copy(update={"reason": str(error)})
        found: dict[str, object] = {"accelerator": accelerator.content_hash}
        found["area"], outcome = total_area(accelerator), self._outcome(design, accelerator)
        if isinstance(outcome, str):
            return row.model_copy(update={**found, "reason": outcome})
        made = row.model_copy(update={**found, "networks": outcome, "reason": None})
        return made.with_objectives(self.checked.space.objectives)

    def _outcome(self, design: Design, accelerator: Accelerator) -> Outcome:
        """The outcome of the accelerator; another thread may be about to find it."""
        key = accelerator.content_hash
        with self.lock:
            is_first = key not in self.outcomes
            future = self.outcomes.setdefault(key, Future())
        if is_first:
            try:
                future.set_result(self._explored(design, accelerator))
            except BaseException as error:
                future.set_exception(error)
                raise
        return future.result()

    def _explored(self, design: Design, accelerator: Accelerator) -> Outcome:
        networks = self.checked.space.networks
        try:
            problems = self.checked.problems(design, accelerator)
            totals = self.explore(design, problems)
            found: list[NetworkFigures] = []
            for entry, total in zip(networks, totals, strict=True):
                if total.infeasible:
                    return _reason(entry, total.infeasible)
                found.append(_figures(entry, total))
        except (InputError, InfeasibleError) as error:
            return str(error)
        return tuple(found)


def _figures(entry: WeightedNetwork, total: NetworkEvaluation) -> NetworkFigures:
    return NetworkFigures(
        network=entry.name,
        weight=entry.weight,
        energy=float(total.energy),
        latency=float(total.latency),
        gap=total.gap,
    )


def _reason(entry: WeightedNetwork, infeasible: Sequence[InfeasibleLayer]) -> str:
    more = f" (and {len(infeasible) - 1} more layers)" if len(infeasible) > 1 else ""
    return f"{entry.name}: {infeasible[0].message}{more}"
