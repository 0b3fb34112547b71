"""The stages that allocate nodes to cores: what they pass on, keep, resume and schedule."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import final

import pytest

from nestmap.model import InfeasibleError, InputError, Objective
from nestmap.model.evaluation.objective import ALLOCATION_OBJECTIVES, AllocationObjective
from nestmap.model.multicore.allocation import Allocation, Fitness, Generation, Individual
from nestmap.model.multicore.schedule import AllocationSearch, ScheduleProblem
from nestmap.pipeline.stages.multicore.inter_core import (
    BestAllocationStage,
    FrontSchedulesStage,
    InterCoreMappingStage,
)
from nestmap.search.multicore.allocation.genetic import GeneticOptions
from nestmap.search.multicore.allocation.initial_allocations import initial_allocations
from nestmap.search.multicore.schedule.evaluator import schedule
from tests.search.multicore.schedule.lines import WIDE, Row, core, line, machine, problem

LATENCY, ENERGY = Objective.LATENCY, Objective.ENERGY
SHORT = GeneticOptions(individuals=4, generations=5, seed=3)
LARGE = GeneticOptions(individuals=16, generations=5)


def small(layers: int = 6) -> ScheduleProblem:
    """A line of layers on two cores."""
    return problem(line([Row(16, 8)] * layers, rows=2), machine(core(0), core(1), between=WIDE))


def cramped() -> ScheduleProblem:
    """What no core has room for."""
    return problem(line([Row(64, 64)] * 2), machine(core(0, 10), core(1, 10), between=WIDE))


def same(one: AllocationSearch, other: AllocationSearch) -> bool:
    return one.generation == other.generation and one.objectives == other.objectives


def test_the_best_is_what_the_scheduler_says() -> None:
    search = InterCoreMappingStage(SHORT)(small())
    for objective in (LATENCY, ENERGY):
        best = search.best(objective)
        found = BestAllocationStage(objective)(search)
        assert found.allocation == best.allocation
        assert best.fitness is not None
        assert (found.latency, found.energy.total) == (best.fitness.latency, best.fitness.energy)
        assert best in search.front


def test_everything_is_looked_at_where_that_is_not_too_much() -> None:
    made = small()
    search = InterCoreMappingStage(LARGE)(made)
    costs = {
        (found.energy.total, found.latency)
        for found in (schedule(made, x) for x in product((0, 1), repeat=6))
    }
    best = [x for x in costs if not any(y[0] <= x[0] and y[1] <= x[1] and y != x for y in costs)]
    assert [(x.fitness.energy, x.fitness.latency) for x in search.front if x.fitness] == sorted(
        best
    )
    assert search.is_complete
    assert not InterCoreMappingStage(SHORT)(made).is_complete


def test_the_schedules_of_the_front_follow_the_first_objective() -> None:
    search = InterCoreMappingStage(SHORT)(small())
    found = list(FrontSchedulesStage()(search))
    assert [x.allocation for x in found] == [x.allocation for x in search.front]
    energies = [x.energy.total for x in found]
    assert energies == sorted(energies)


def test_workers_change_nothing() -> None:
    made = small()
    one, three = (InterCoreMappingStage(SHORT, workers=n)(made) for n in (1, 3))
    assert same(one, three)


@final
@dataclass
class Notes:
    """A ledger of generations, which an earlier search may have recorded, and an observer."""

    earlier: Sequence[Generation] = ()
    told: list[str] = field(default_factory=list[str])
    recorded: list[Generation] = field(default_factory=list[Generation])

    def newest_generation(self) -> Generation | None:
        return self.earlier[-1] if self.earlier else None

    def scheduled_individuals(self) -> tuple[Individual, ...]:
        return tuple(x for generation in self.earlier for x in generation.scheduled)

    def record_generation(self, generation: Generation) -> None:
        self.told.append(f"record {generation.number}")
        self.recorded.append(generation)

    def search(self, problem: ScheduleProblem, generations: int) -> None:
        self.told.append(f"search {generations}")

    def observe(self, generation: Generation) -> None:
        self.told.append(f"observe {generation.number}")


def test_every_generation_is_recorded_before_it_is_observed() -> None:
    notes = Notes()
    search = InterCoreMappingStage(SHORT, ledger=notes, observer=notes)(small())
    assert notes.told == [
        "search 5",
        *(f"{what} {number}" for number in range(6) for what in ("record", "observe")),
    ]
    assert notes.recorded[-1] == search.generation


def test_the_first_generation_begins_with_seeds_and_rules() -> None:
    made, notes = small(), Notes()
    seed = (0, 1, 1, 0, 0, 1)
    options = GeneticOptions(individuals=12, generations=1)
    stage = InterCoreMappingStage(options, seeds=(seed,), ledger=notes)
    _ = stage(made)
    first = [x.allocation for x in notes.recorded[0].scheduled]
    expected = list(dict.fromkeys((seed, *initial_allocations(made))))[:6]
    assert first[: len(expected)] == expected


@pytest.mark.parametrize("place", range(6))
def test_a_search_goes_on_where_it_was_interrupted(place: int) -> None:
    made, notes = small(), Notes()
    whole = InterCoreMappingStage(SHORT, ledger=notes)(made)
    rest = Notes(notes.recorded[: place + 1])
    resumed = InterCoreMappingStage(SHORT, ledger=rest)(made)
    assert same(resumed, whole)
    assert rest.recorded == notes.recorded[place + 1 :]


def test_a_seed_of_another_problem_is_wrong_input() -> None:
    with pytest.raises(InputError, match="layer 2, group 0: found core 7; expected one of 0, 1"):
        _ = InterCoreMappingStage(SHORT, seeds=((0, 0, 7, 0, 0, 0),))(small())


def test_a_problem_that_fits_nowhere_says_which_memory_is_too_small() -> None:
    search = InterCoreMappingStage(SHORT)(cramped())
    assert search.front == ()
    with pytest.raises(InfeasibleError, match=r"none of 4 allocations of line to hand-made"):
        _ = search.best(LATENCY)
    with pytest.raises(InfeasibleError, match="buffer"):
        _ = BestAllocationStage()(search)


def test_evaluation_can_be_replaced() -> None:
    asked = list[tuple[int, int]]()

    class Constant:
        def __call__(self, several: Sequence[Allocation]) -> list[Fitness | None]:
            return [Fitness(latency=sum(x), energy=1.0, memory=0) for x in several]

    def evaluation(made: ScheduleProblem, workers: int) -> Constant:
        asked.append((len(made.nodes), workers))
        return Constant()

    search = InterCoreMappingStage(LARGE, workers=2, evaluation=evaluation)(small())
    assert asked == [(12, 2)]
    assert search.best(LATENCY).allocation == (0,) * 6


@pytest.mark.parametrize("objective", ALLOCATION_OBJECTIVES)
def test_of_equally_good_ones_the_best_in_something_else_is_taken(
    objective: AllocationObjective,
) -> None:
    search = InterCoreMappingStage(GeneticOptions(objectives=(objective,)))(small())
    best = search.best(objective)
    assert best.fitness is not None
    for other in (*search.front, *search.generation.population):
        assert other.fitness is not None
        assert other.fitness.of(objective) >= best.fitness.of(objective)
