"""The genetic algorithm: a function of seed and generation, each allocation evaluated once."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise, product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from nestmap.model import InputError, Objective
from nestmap.model.base import copy_with
from nestmap.model.evaluation.objective import ALLOCATION_OBJECTIVES, AllocationObjective
from nestmap.model.multicore.allocation import (
    Allocation,
    AllocationSpace,
    Fitness,
    Generation,
    Individual,
)
from nestmap.search.multicore.allocation.genetic import (
    GeneticOptions,
    costs_of,
    evolve,
    pareto_front,
)
from tests.search.multicore.allocation.spaces import (
    ALL,
    Counting,
    allocations,
    dominates,
    each,
    hashed,
    hashed_or_not,
    individual,
    is_allowed,
    separable,
    space_of,
    spaces,
    square,
)
from tests.sweeps import some_of

LATENCY, ENERGY = Objective.LATENCY, Objective.ENERGY
SHORT = GeneticOptions(individuals=6, generations=5)
SPACE = square(8, 3)
"""More allocations than SHORT looks at."""

few = settings(max_examples=some_of(25))
fitnesses = pytest.mark.parametrize("fitness", [hashed, hashed_or_not, separable])
Costing = Callable[[Allocation], Fitness | None]


def options(**changes: object) -> GeneticOptions:
    return copy_with(SHORT, changes)


def run(
    space: AllocationSpace = SPACE, options: GeneticOptions = SHORT, fitness: Costing = hashed
) -> list[Generation]:
    return list(evolve(space, options, each(fitness)))


small_options = st.builds(
    GeneticOptions,
    individuals=st.integers(1, 7),
    generations=st.integers(0, 5),
    crossover=st.sampled_from([0.0, 0.3]),
    mutation=st.sampled_from([0.0, 0.7]),
    objectives=st.lists(st.sampled_from(ALL), min_size=1, unique=True).map(tuple),
    seed=st.integers(0, 2**70),
    patience=st.sampled_from([None, None, 1, 2]),
)


@fitnesses
@few
@given(spaces(), small_options)
def test_what_holds_of_every_generation(
    fitness: Costing, space: AllocationSpace, options: GeneticOptions
) -> None:
    counting = Counting(fitness)
    generations = list(evolve(space, options, counting))
    assert [x.number for x in generations] == list(range(len(generations)))
    seen = dict[Allocation, Fitness | None]()
    for generation in generations:
        new = {x.allocation: x.fitness for x in generation.scheduled}
        assert not new.keys() & seen.keys()
        seen |= new
        assert generation.evaluations == len(seen)
        assert len(generation.population) == min(options.parents, len(seen))
        assert all(seen[x.allocation] == x.fitness for x in generation.population)
        everything = [Individual(allocation=x, fitness=cost) for x, cost in seen.items()]
        assert generation.front == pareto_front(everything, options.objectives)
    assert all(
        is_allowed(space, allocation) and fitness(allocation) == cost
        for allocation, cost in seen.items()
    )
    assert counting.asked == list(seen)
    assert len(counting.calls) == sum(1 for x in generations if x.scheduled)
    assert len(seen) <= options.budget


@few
@given(spaces(), small_options)
def test_a_seed_gives_one_result_whatever_the_number_of_workers(
    space: AllocationSpace, options: GeneticOptions
) -> None:
    with ThreadPoolExecutor(3) as pool:
        threads = list(evolve(space, options, lambda several: list(pool.map(hashed, several))))
    assert run(space, options) == threads
    assert run(space, options) == run(space, options)


def test_seeds_differ() -> None:
    found = {run(options=options(seed=seed))[-1].population for seed in (0, 1, 2**40)}
    assert len(found) == 3


@fitnesses
@few
@given(st.data(), spaces(), small_options)
def test_an_interrupted_search_goes_on_as_if_nothing_had_happened(
    fitness: Costing, data: st.DataObject, space: AllocationSpace, options: GeneticOptions
) -> None:
    whole = run(space, options, fitness)
    place = data.draw(st.integers(0, len(whole) - 1))
    done, start = whole[: place + 1], Generation.model_validate_json(whole[place].model_dump_json())
    known = [x for generation in done for x in generation.scheduled]
    counting = Counting(fitness)
    rest = list(evolve(space, options, counting, start=start, known=known))
    assert rest == whole[place + 1 :]
    assert not {x.allocation for x in known} & set(counting.asked)


@few
@given(st.data(), spaces(), small_options)
def test_what_was_known_before_changes_no_result(
    data: st.DataObject, space: AllocationSpace, options: GeneticOptions
) -> None:
    whole = run(space, options)
    place = data.draw(st.integers(0, len(whole) - 1))
    rest = list(evolve(space, options, each(hashed), start=whole[place]))
    for forgetful, generation in zip(rest, whole[place + 1 :], strict=True):
        assert forgetful.population == generation.population
        assert forgetful.front == generation.front
        assert forgetful.evaluations >= generation.evaluations


def test_a_search_can_be_made_longer() -> None:
    short, long = run(options=options(generations=3)), run(options=options(generations=7))
    assert long[:4] == short
    known = [x for generation in short for x in generation.scheduled]
    rest = evolve(SPACE, options(generations=7), each(hashed), start=short[-1], known=known)
    assert list(rest) == long[4:]


def test_a_finished_search_has_no_more_generations() -> None:
    assert list(evolve(SPACE, SHORT, each(hashed), start=run()[-1])) == []


@few
@given(spaces(genes=4, cores=3), small_options)
def test_a_small_space_is_searched_completely(
    space: AllocationSpace, options: GeneticOptions
) -> None:
    everything = list(product(*(gene.cores for gene in space.groups)))
    generations = run(space, options, hashed_or_not)
    last = generations[-1]
    assert last.exhaustive is (len(everything) <= options.budget)
    if last.exhaustive:
        assert last.evaluations == len(everything)
        costed = [individual(x) for x in everything]
        costed = [copy_with(x, {"fitness": hashed_or_not(x.allocation)}) for x in costed]
        assert last.front == pareto_front(costed, options.objectives)
        assert len(generations) == -(-len(everything) // options.individuals)


def test_nothing_to_choose_is_one_evaluation() -> None:
    counting = Counting()
    (only,) = evolve(space_of((3,), (1,)), GeneticOptions(), counting)
    assert counting.calls == [((3, 1),)]
    assert (only.evaluations, only.exhaustive) == (1, True)
    assert [x.allocation for x in only.front] == [(3, 1)]


def test_no_more_allocations_than_individuals_are_one_generation() -> None:
    counting = Counting()
    (only,) = evolve(square(3, 3), GeneticOptions(individuals=27), counting)
    assert len(counting.calls) == 1
    assert sorted(counting.asked) == list(product(range(3), repeat=3))
    assert only.evaluations == 27


@given(st.lists(allocations(SPACE), max_size=12))
def test_seeds_come_first_and_are_at_most_half(seeds: list[Allocation]) -> None:
    first = next(evolve(SPACE, SHORT, each(hashed), seeds))
    unique = list(dict.fromkeys(seeds))[: SHORT.parents]
    assert [x.allocation for x in first.scheduled][: len(unique)] == unique
    assert len(first.scheduled) == SHORT.individuals


@fitnesses
def test_no_offspring_is_one_that_the_generation_before_knows(fitness: Costing) -> None:
    for previous, generation in pairwise(run(fitness=fitness)):
        known = {x.allocation for x in (*previous.population, *previous.front)}
        assert not known & {x.allocation for x in generation.scheduled}


def test_where_nothing_can_be_scheduled_the_search_moves_on() -> None:
    generations = run(fitness=lambda _: None)
    assert len(generations) == SHORT.generations + 1
    for previous, generation in pairwise(generations):
        assert generation.front == ()
        assert generation.improved == 0
        assert not set(generation.population) & set(previous.population)


def test_infeasible_individuals_give_way_to_feasible_ones() -> None:
    for generation in run(fitness=hashed_or_not):
        found = [x.fitness is not None for x in generation.population]
        assert found == sorted(found, reverse=True)
        assert all(x.fitness for x in generation.front)


def test_patience_ends_a_search_without_progress() -> None:
    constant = Fitness(latency=1, energy=1.0, memory=1)
    generations = run(options=options(generations=50, patience=4), fitness=lambda _: constant)
    assert [x.improved for x in generations] == [0] * 5
    assert len(run(options=options(generations=9), fitness=lambda _: constant)) == 10


def test_patience_begins_again_with_every_better_front() -> None:
    patient = options(generations=200, patience=6, objectives=(LATENCY,))
    generations = run(square(12, 3), patient, separable)
    assert len({x.improved for x in generations}) > 3
    assert generations[-1].number == generations[-1].improved + 6
    for before, after in pairwise(generations):
        assert (after.improved == after.number) is (after.front != before.front)


def test_patience_does_not_cut_a_complete_search_short() -> None:
    constant = Fitness(latency=1, energy=1.0, memory=1)
    generations = run(square(3, 3), options(patience=1), fitness=lambda _: constant)
    assert generations[-1].evaluations == 27


@pytest.mark.parametrize("objective", ALLOCATION_OBJECTIVES)
def test_one_objective_has_one_best(objective: AllocationObjective) -> None:
    generations = run(options=options(objectives=(objective,)))
    for generation in generations:
        (best,) = generation.front
        costs = [costs_of(x, (objective,)) for x in generation.population]
        assert costs_of(best, (objective,)) == min(costs)


def test_fronts_only_get_better() -> None:
    fronts = [generation.front for generation in run()]
    for before, after in pairwise(fronts):
        found = [costs_of(x, SHORT.objectives) for x in after]
        for old in before:
            cost = costs_of(old, SHORT.objectives)
            assert cost in found or any(dominates(x, cost) for x in found)


def test_one_individual_is_a_population() -> None:
    generations = run(square(4, 3), options(individuals=1, generations=20), separable)
    assert all(len(x.population) == 1 for x in generations)
    assert generations[-1].evaluations > 10


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        ({"individuals": 0}, "individuals"),
        ({"individuals": -2}, "individuals"),
        ({"individuals": 2.5}, "individuals"),
        ({"generations": -1}, "generations"),
        ({"crossover": -0.1}, "crossover"),
        ({"crossover": float("nan")}, "crossover"),
        ({"mutation": 1.1}, "mutation"),
        ({"crossover": 0.5, "mutation": 0.6}, "expected at most 1 together"),
        ({"objectives": ()}, "objectives"),
        ({"objectives": (LATENCY, ENERGY, LATENCY)}, "expected different ones"),
        ({"seed": -1}, "seed"),
        ({"patience": 0}, "patience"),
    ],
)
def test_options_out_of_range_are_refused(wrong: dict[str, object], named: str) -> None:
    with pytest.raises(ValidationError, match=named):
        _ = options(**wrong)


@pytest.mark.parametrize(
    ("seed", "message"),
    [
        ((0, 1), "found 2 cores; expected 3, one for each node group"),
        ((0, 1, 9), "layer 2, group 0: found core 9; expected one of 1, 2"),
    ],
)
def test_strange_seeds_and_starts_are_refused(seed: Allocation, message: str) -> None:
    space = space_of((0, 1), (1, 2), (1, 2))
    with pytest.raises(InputError, match=message):
        _ = next(evolve(space, SHORT, each(hashed), [seed]))
    start = Generation(number=0, population=(individual(seed),), front=(), evaluations=1)
    with pytest.raises(InputError, match=message):
        _ = next(evolve(space, SHORT, each(hashed), start=start))


def test_an_evaluation_that_loses_some_is_an_error() -> None:
    def forgetful(several: Sequence[Allocation]) -> list[Fitness | None]:
        return [hashed(allocation) for allocation in several[1:]]

    with pytest.raises(ValueError, match="shorter"):
        _ = next(evolve(SPACE, SHORT, forgetful))
