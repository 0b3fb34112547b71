"""The genetic algorithm finds optima that are known, within a budget of evaluations."""

from collections.abc import Callable
from itertools import pairwise

import pytest

from nestmap.model import Objective
from nestmap.model.multicore.allocation import Allocation, Fitness, Generation
from nestmap.search.multicore.allocation.genetic import GeneticOptions, evolve
from tests.search.multicore.allocation.spaces import each, separable, square

LATENCY = Objective.LATENCY
USUAL = GeneticOptions()
SEEDS = range(4)

Costing = Callable[[Allocation], Fitness | None]


def last(genes: int, fitness: Costing, options: GeneticOptions) -> Generation:
    """The last generation of a search over so many genes on three cores."""
    return list(evolve(square(genes, 3), options, each(fitness)))[-1]


def pipelined(allocation: Allocation) -> Fitness:
    """The busiest core, and what passes where neighbours are not on the same core."""
    loads = [allocation.count(core) for core in range(3)]
    borders = sum(a != b for a, b in pairwise(allocation))
    return Fitness(latency=10 * max(loads) + borders, energy=float(borders), memory=0)


def half_of_it(allocation: Allocation) -> Fitness | None:
    """As above, but most allocations cannot be scheduled: a core takes no more than 4 genes."""
    loads = [allocation.count(core) for core in range(3)]
    return None if max(loads) > 4 else pipelined(allocation)


@pytest.mark.parametrize("seed", SEEDS)
def test_independent_genes(seed: int) -> None:
    options = GeneticOptions(seed=seed, objectives=(LATENCY,))
    (best,) = last(15, separable, options).front  # one of 14 million
    assert best.fitness is not None
    assert best.fitness.latency == 10


@pytest.mark.parametrize("seed", SEEDS)
def test_a_pipeline_in_equal_stretches(seed: int) -> None:
    options = GeneticOptions(seed=seed, objectives=(LATENCY,))
    (best,) = last(12, pipelined, options).front  # one of 6 in 531,441
    assert best.fitness is not None
    assert best.fitness.latency == 42


@pytest.mark.parametrize("seed", SEEDS)
def test_the_whole_front_of_a_pipeline(seed: int) -> None:
    found = last(12, pipelined, GeneticOptions(seed=seed, generations=40))
    costs = [(x.fitness.energy, x.fitness.latency) for x in found.front if x.fitness]
    assert costs == [(0.0, 120), (1.0, 61), (2.0, 42)]


@pytest.mark.parametrize("seed", SEEDS)
def test_what_cannot_be_scheduled_is_left_behind(seed: int) -> None:
    found = last(12, half_of_it, GeneticOptions(seed=seed))
    costs = [(x.fitness.energy, x.fitness.latency) for x in found.front if x.fitness]
    assert costs == [(2.0, 42)]
