"""The stages that allocate nodes to cores by constraint programming."""

from __future__ import annotations

from importlib.machinery import ModuleSpec

import pytest

from nestmap.model import InfeasibleError, InputError
from nestmap.model.multicore.population import AllocationObjective
from nestmap.model.multicore.schedule import ScheduleProblem
from nestmap.pipeline.stages.multicore.constraint import (
    ConstraintAllocationStage,
    ConstraintScheduleStage,
    ConstraintSearch,
    SeededInterCoreMappingStage,
)
from nestmap.pipeline.stages.multicore.inter_core import InterCoreMappingStage
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
    found = ConstraintScheduleStage()(proven)
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
    fitness = search.best(AllocationObjective.LATENCY).fitness
    assert fitness is not None
    assert fitness.latency == proven.result.bound


def test_workers_change_nothing(proven: ConstraintSearch) -> None:
    assert ConstraintAllocationStage(workers=2)(proven.problem).result == proven.result


def test_without_a_schedule_it_says_so(proven: ConstraintSearch) -> None:
    stage = ConstraintAllocationStage(evaluation=lambda made, workers: lambda x: [None] * len(x))
    found = stage(proven.problem)
    assert found.result.proven
    with pytest.raises(InfeasibleError, match="none of 16 allocations of by hand"):
        _ = ConstraintScheduleStage()(found)


def test_without_or_tools_it_says_how_to_install_them(monkeypatch: pytest.MonkeyPatch) -> None:
    def find_spec(name: str) -> ModuleSpec | None:
        return None if name == "ortools" else ModuleSpec(name, None)

    monkeypatch.setattr(needs, "find_spec", find_spec)
    with pytest.raises(InputError, match=r"no ortools .*nestmap\[cp\]"):
        _ = ConstraintAllocationStage()(small())
