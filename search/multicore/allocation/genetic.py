"""Inter-core allocation by a genetic algorithm; each generation is a function of the previous one.

The random numbers of a generation depend only on the seed and its number, so an interrupted search
resumes from its last generation with identical results.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice, product
from typing import Annotated, Final, final

import numpy as np
from pydantic import Field, model_validator

from nestmap.model import Objective
from nestmap.model.base import Frozen, copy_with
from nestmap.model.errors import InputError
from nestmap.model.evaluation.objective import AllocationObjective
from nestmap.model.multicore.allocation import (
    Allocation,
    AllocationSpace,
    Fitness,
    Generation,
    Individual,
)
from nestmap.model.units import Count, PositiveCount, Seed

# --- crossover and mutation of allocations; both respect the allowed cores of each node group ---

Random = np.random.Generator

STRETCHED: Final = 0.4
"""The share of mutations that move a sequence of node groups to one core."""

REASSIGNED: Final = 0.4
"""The share that reassigns single node groups; all others swap the cores of two sequences."""


def random_allocation(space: AllocationSpace, random: Random) -> Allocation:
    """A random allowed core for each node group, uniformly distributed."""
    return tuple(gene.cores[_any(len(gene.cores), random)] for gene in space.groups)


def crossover(
    space: AllocationSpace, one: Allocation, other: Allocation, random: Random
) -> Allocation:
    """Two-point crossover: the first parent, with a range of free node groups from the second."""
    first, end = sorted(random.choice(len(space.free_groups) + 1, 2, replace=False).tolist())
    child = list(one)
    for gene in space.free_groups[first:end]:
        child[gene] = other[gene]
    return tuple(child)


def mutate(space: AllocationSpace, allocation: Allocation, random: Random) -> Allocation:
    """Moves a sequence of node groups to a core, reassigns single ones, or swaps sequences."""
    chance = random.random()
    if chance < STRETCHED:
        return mutate_stretch(space, allocation, random)
    if chance < STRETCHED + REASSIGNED:
        return mutate_gene(space, allocation, random)
    return swap_cores(space, allocation, random)


def mutate_stretch(space: AllocationSpace, allocation: Allocation, random: Random) -> Allocation:
    """Moves two or more consecutive free node groups, up to half of them, to one core if allowed.

    Reassigning a single node group often only adds transfers to its neighbours. The result may
    equal the parent.
    """
    count = len(space.free_groups)
    length = min(count, 2 + _any(max(1, count // 2 - 1), random))
    first = _any(count - length + 1, random)
    stretch = space.free_groups[first : first + length]
    cores = space.groups[stretch[_any(length, random)]].cores
    core = cores[_any(len(cores), random)]
    child = list(allocation)
    for gene in stretch:
        child[gene] = core if core in space.groups[gene].cores else child[gene]
    return tuple(child)


def mutate_gene(space: AllocationSpace, allocation: Allocation, random: Random) -> Allocation:
    """Reassigns each of the ``n`` free node groups to another core with probability ``1/n``.

    Reassigns a random one if none was selected.
    """
    taken = np.flatnonzero(
        random.random(len(space.free_groups)) * len(space.free_groups) < 1
    ).tolist()
    child = list(allocation)
    for place in taken or [_any(len(space.free_groups), random)]:
        gene = space.free_groups[place]
        others = [core for core in space.groups[gene].cores if core != allocation[gene]]
        child[gene] = others[_any(len(others), random)]
    return tuple(child)


def swap_cores(space: AllocationSpace, allocation: Allocation, random: Random) -> Allocation:
    """Swaps the cores of two sequences of up to a third of the free node groups, pair by pair.

    A node group keeps its core if the other one is not allowed. The load of the cores thus stays
    about the same. The result may equal the parent.
    """
    count = len(space.free_groups)
    length = 1 + _any(max(1, count // 3), random)
    first, second = _any(count - length + 1, random), _any(count - length + 1, random)
    child = list(allocation)
    for place in range(length):
        one, other = space.free_groups[first + place], space.free_groups[second + place]
        if child[one] in space.groups[other].cores and child[other] in space.groups[one].cores:
            child[one], child[other] = child[other], child[one]
    return tuple(child)


def _any(count: int, random: Random) -> int:
    return int(random.integers(count))


# --- selects the survivors of a generation and the Pareto front ---

Objectives = tuple[AllocationObjective, ...]


def select_survivors(
    individuals: Sequence[Individual], objectives: Objectives, count: int
) -> tuple[Individual, ...]:
    """The best individuals by NSGA-II, followed by infeasible ones, the most recent first.

    A search without a feasible individual thus still changes its population.
    """
    # DEAP takes long to import, so only its users should pay for that
    from nestmap.search.multicore.allocation.nsga2 import select  # noqa: PLC0415

    known = [x for x in individuals if x.fitness is not None]
    if len(known) > count:
        rows = select([costs_of(x, objectives) for x in known], count)
        return tuple(known[row] for row in rows)
    others = [x for x in individuals if x.fitness is None]
    return (*known, *others[::-1])[:count]


def pareto_front(
    individuals: Sequence[Individual], objectives: Objectives
) -> tuple[Individual, ...]:
    """The non-dominated individuals, sorted by the first objective.

    Among individuals with equal costs only the first is included; infeasible ones are excluded.
    """
    from nestmap.search.multicore.allocation.nsga2 import non_dominated  # noqa: PLC0415 (as above)

    known = [x for x in individuals if x.fitness is not None]
    by_costs = {costs_of(x, objectives): x for x in known[::-1]}
    costs = sorted(by_costs)
    return tuple(by_costs[costs[row]] for row in non_dominated(costs))


def costs_of(individual: Individual, objectives: Objectives) -> tuple[float, ...]:
    """The objectives of an individual, in order; infinite if it is infeasible."""
    if individual.fitness is None:
        return (float("inf"),) * len(objectives)
    return tuple(individual.fitness.of(objective) for objective in objectives)


# --- inter-core allocation by a genetic algorithm ---

Evaluate = Callable[[Sequence[Allocation]], Sequence[Fitness | None]]
"""The costs of several allocations; ``None`` for an infeasible one."""

Probability = Annotated[float, Field(ge=0, le=1)]

TRIES: Final = 20
"""Repeated mutations without a new individual, after which an offspring is dropped."""


class GeneticOptions(Frozen, frozen=True):
    """Size, objectives and operators of the genetic algorithm.

    Attributes:
        individuals: allocations per generation; half as many survive.
        generations: the number of generations after the initial population.
        crossover: the share of offspring that are a crossover of two survivors.
        mutation: the share that are a mutation of one survivor; all others are random allocations.
        objectives: what to minimize; with several, the search returns the Pareto front.
        seed: the random seed.
        patience: the number of generations without a better front after which the search ends.
    """

    individuals: PositiveCount = 32
    generations: Count = 100
    crossover: Probability = 0.3
    mutation: Probability = 0.7
    objectives: tuple[AllocationObjective, ...] = Field(
        default=(Objective.ENERGY, Objective.LATENCY), min_length=1
    )
    seed: Seed = 0
    patience: PositiveCount | None = None

    @model_validator(mode="after")
    def _consistent(self) -> GeneticOptions:
        if self.crossover + self.mutation > 1 + 1e-9:
            raise ValueError(
                f"crossover of {self.crossover:g} and mutation of {self.mutation:g} of the "
                "offspring; expected at most 1 together"
            )
        if len(set(self.objectives)) != len(self.objectives):
            names = ", ".join(self.objectives)
            raise ValueError(f"objectives {names}; expected different ones")
        return self

    @property
    def parents(self) -> int:
        """The number of survivors, the parents of the next generation."""
        return max(1, self.individuals // 2)

    @property
    def budget(self) -> int:
        """The most allocations that a search considers."""
        return self.individuals * (self.generations + 1)


def evolve(
    space: AllocationSpace,
    options: GeneticOptions,
    evaluate: Evaluate,
    seeds: Sequence[Allocation] = (),
    start: Generation | None = None,
    known: Iterable[Individual] = (),
) -> Iterator[Generation]:
    """The generations of a search, from the initial population or after ``start``.

    Every allocation is evaluated once, all new ones of a generation together. If the space is no
    larger than the budget of the search, all its allocations are evaluated, and the search ends.

    Args:
        space: the node groups and the allowed cores of each.
        options: size, objectives and operators.
        evaluate: returns the costs of allocations.
        seeds: initial allocations, the most promising first. At most half of the individuals are
            seeds, the others random: simple rules are often wrong in the same way.
        start: a generation of an interrupted search with the same options (except a larger number
            of generations).
        known: the costs that the interrupted search had evaluated, which are not evaluated again.
            Without them the results are the same, but repeated evaluations count twice.

    Raises:
        InputError: if a seed or the start does not belong to this space.
    """
    for allocation in (*seeds, *(x.allocation for x in _state(start))):
        _check(space, allocation)
    search = Search(space, options, evaluate, (*known, *_state(start)))
    if start is None:
        start = search.initial(seeds)
        yield start
    while not search.is_done(start):
        start = search.step(start)
        yield start


def _state(generation: Generation | None) -> tuple[Individual, ...]:
    """All individuals that a generation knows."""
    if generation is None:
        return ()
    return (*generation.population, *generation.front, *generation.scheduled)


def _check(space: AllocationSpace, allocation: Allocation) -> None:
    if len(allocation) != len(space.groups):
        raise InputError(
            "allocation",
            f"{len(allocation)} cores",
            f"{len(space.groups)}, one for each node group",
        )
    for gene, core in zip(space.groups, allocation, strict=True):
        if core not in gene.cores:
            raise InputError(
                f"allocation of layer {gene.layer}, group {gene.group}",
                f"core {core}",
                f"one of {', '.join(map(str, gene.cores))}",
            )


@final
class Search:
    """The steps of a search; evaluated costs are cached, which does not change results."""

    def __init__(
        self,
        space: AllocationSpace,
        options: GeneticOptions,
        evaluate: Evaluate,
        known: Iterable[Individual] = (),
    ) -> None:
        self._space = space
        self._options = options
        self._evaluate = evaluate
        self._known = {individual.allocation: individual for individual in known}

    def initial(self, seeds: Sequence[Allocation] = ()) -> Generation:
        """The initial population."""
        exhaustive = self._space.size <= self._options.budget
        nothing = Generation(
            number=0, population=(), front=(), evaluations=0, exhaustive=exhaustive
        )
        return self._after(nothing, self._listed(0) if exhaustive else self._first(seeds))

    def step(self, previous: Generation) -> Generation:
        """The next generation."""
        number = previous.number + 1
        allocations = self._listed(number) if previous.exhaustive else self._offspring(previous)
        return self._after(copy_with(previous, {"number": number}), allocations)

    def is_done(self, generation: Generation) -> bool:
        """Whether this is the last generation."""
        options = self._options
        if generation.number >= options.generations:
            return True
        if generation.exhaustive:
            return (generation.number + 1) * options.individuals >= self._space.size
        stale = generation.number - generation.improved
        return options.patience is not None and stale >= options.patience

    def _after(self, previous: Generation, allocations: Sequence[Allocation]) -> Generation:
        """The generation that results from evaluating these allocations."""
        new = [x for x in allocations if x not in self._known]
        costs = self._evaluate(new) if new else ()
        scheduled = tuple(
            Individual(allocation=allocation, fitness=fitness)
            for allocation, fitness in zip(new, costs, strict=True)
        )
        self._known |= {individual.allocation: individual for individual in scheduled}
        offspring = [self._known[allocation] for allocation in allocations]
        objectives, number = self._options.objectives, previous.number
        front = pareto_front((*previous.front, *offspring), objectives)
        population = (*previous.population, *offspring)
        return Generation(
            number=number,
            population=select_survivors(population, objectives, self._options.parents),
            front=front,
            evaluations=previous.evaluations + len(scheduled),
            scheduled=scheduled,
            improved=previous.improved if front == previous.front else number,
            exhaustive=previous.exhaustive,
        )

    def _listed(self, number: int) -> list[Allocation]:
        """The part of the enumeration of all allocations that a generation considers."""
        first = number * self._options.individuals
        everything = product(*(gene.cores for gene in self._space.groups))
        return list(islice(everything, first, first + self._options.individuals))

    def _first(self, seeds: Sequence[Allocation]) -> list[Allocation]:
        """At most half of the individuals from the seeds, then random allocations."""
        chosen = dict.fromkeys(list(dict.fromkeys(seeds))[: self._options.parents])
        random = self._random(0)
        while len(chosen) < self._options.individuals:
            chosen[random_allocation(self._space, random)] = None
        return list(chosen)

    def _offspring(self, previous: Generation) -> list[Allocation]:
        """New distinct allocations that the previous generation does not know."""
        parents = [individual.allocation for individual in previous.population]
        random = self._random(previous.number + 1)
        known = {x.allocation for x in (*previous.population, *previous.front)}
        found: list[Allocation] = []
        for _ in range(self._options.individuals):
            child = self._child(parents, random)
            for _ in range(TRIES):
                if child not in known:
                    known.add(child)
                    found.append(child)
                    break
                child = mutate(self._space, child, random)
        return found

    def _child(self, parents: Sequence[Allocation], random: Random) -> Allocation:
        """An offspring.

        A crossover, a mutation or a random allocation, with the shares of the options.
        """
        chance, options = random.random(), self._options
        one, other = (parents[int(i)] for i in random.integers(len(parents), size=2))
        if chance < options.crossover:
            return crossover(self._space, one, other, random)
        if chance < options.crossover + options.mutation:
            return mutate(self._space, one, random)
        return random_allocation(self._space, random)

    def _random(self, number: int) -> Random:
        """The random number generator of a generation."""
        seed = np.random.SeedSequence(self._options.seed, spawn_key=(number,))
        return np.random.Generator(np.random.PCG64(seed))
