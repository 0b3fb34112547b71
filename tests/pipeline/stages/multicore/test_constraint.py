"""The stages that allocate nodes to cores by constraint programming."""

from dataclasses import dataclass
from importlib.machinery import ModuleSpec
from typing import final

import pytest

from nestmap.model import InfeasibleError, InputError, Objective
from nestmap.model.multicore.allocation import StreamBound
from nestmap.model.multicore.schedule import ScheduleProblem
from nestmap.pipeline.stages.multicore.constraint import (
    ConstraintAllocationStage,
    ConstraintFrontStage,
    ConstraintSearch,
    SeededInterCoreMappingStage,
)
from nestmap.pipeline.stages.multicore.inter_core import BestAllocationStage, InterCoreMappingStage
from nestmap.pipeline.util import extras as needs
from nestmap.search.multicore.allocation.cp_sat_search import ConstraintOptions
from nestmap.search.multicore.allocation.genetic import GeneticOptions
from nestmap.search.multicore.allocation.initial_allocations import initial_allocations
from tests.search.multicore.allocation.chains import problem

SHORT = GeneticOptions(individuals=4, generations=2)


def small() -> ScheduleProblem:
    return problem([[9, 20], [14, 7], [11, 12], [8, 30]], [(0, 1), (0, 2), (2, 3)])


@pytest.fixture(scope="module")
def proven() -> ConstraintSearch:
    return ConstraintAllocationStage()(small())


def test_the_best_is_proven_and_scheduled(proven: ConstraintSearch) -> None:
    search = ConstraintFrontStage()(proven)
    found = BestAllocationStage()(search)
    assert search.bound == proven.result
    assert search.front == (proven.result.best,)
    assert proven.result.proven
    assert found.latency == proven.result.bound
    assert (found.allocation,) == proven.seeds


def test_simple_rules_are_tried_first() -> None:
    made = small()
    stage = ConstraintAllocationStage(ConstraintOptions(work=1e-9, max_evaluations=500))
    result = stage(made).result
    assert result.evaluations == len(initial_allocations(made))


def test_a_genetic_search_begins_with_what_was_proven(proven: ConstraintSearch) -> None:
    stage = SeededInterCoreMappingStage(InterCoreMappingStage(SHORT))
    search = stage(proven)
    assert search.bound == proven.result
    fitness = search.best(Objective.LATENCY).fitness
    assert fitness is not None
    assert fitness.latency == proven.result.bound


def test_workers_change_nothing(proven: ConstraintSearch) -> None:
    assert ConstraintAllocationStage(workers=2)(proven.problem).result == proven.result


def test_without_a_schedule_it_says_so(proven: ConstraintSearch) -> None:
    stage = ConstraintAllocationStage(evaluation=lambda made, workers: lambda x: [None] * len(x))
    found = stage(proven.problem)
    assert found.result.proven
    search = ConstraintFrontStage()(found)
    assert search.front == ()
    with pytest.raises(InfeasibleError, match="none of 16 allocations of by hand"):
        _ = search.best(Objective.LATENCY)


@final
@dataclass
class Notes:
    """A ledger of one result, and an observer."""

    found: StreamBound | None = None
    searches: int = 0

    def bound(self) -> StreamBound | None:
        return self.found

    def record_bound(self, found: StreamBound) -> None:
        self.found = found

    def prove(self, problem: ScheduleProblem) -> None:
        self.searches += 1


def test_what_the_ledger_knows_is_not_searched_again(proven: ConstraintSearch) -> None:
    notes = Notes()
    stage = ConstraintAllocationStage(ledger=notes, observer=notes)
    for _ in range(2):
        assert stage(proven.problem).result == notes.found == proven.result
    assert notes.searches == 1


def test_without_or_tools_it_says_how_to_install_them(monkeypatch: pytest.MonkeyPatch) -> None:
    def find_spec(name: str) -> ModuleSpec | None:
        return None if name == "ortools" else ModuleSpec(name, None)

    monkeypatch.setattr(needs, "find_spec", find_spec)
    with pytest.raises(InputError, match=r"no ortools .*nestmap\[cp\]"):
        _ = ConstraintAllocationStage()(small())
