"""Random spaces of allocations, made by Hypothesis, and what allocations of them cost."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from hypothesis import strategies as st

from nestmap.model.evaluation.objective import ALLOCATION_OBJECTIVES
from nestmap.model.multicore.allocation import (
    Allocation,
    AllocationSpace,
    Fitness,
    Individual,
    NodeGroup,
)
from nestmap.search.multicore.allocation.genetic import Evaluate

ALL = ALLOCATION_OBJECTIVES


def space_of(*cores: Sequence[int]) -> AllocationSpace:
    """A space with one node for each gene, which may run on these cores."""
    genes = tuple(NodeGroup(layer=i, group=0, cores=tuple(x)) for i, x in enumerate(cores))
    return AllocationSpace(genes, np.arange(len(genes)))


def square(genes: int, cores: int) -> AllocationSpace:
    """A space in which all genes may run on all cores."""
    return space_of(*[range(cores)] * genes)


def spaces(genes: int = 6, cores: int = 4, free: int = 0) -> st.SearchStrategy[AllocationSpace]:
    """Up to so many genes and cores; at least so many genes with a choice."""
    numbers = st.sets(st.integers(0, 2 * cores), min_size=1, max_size=cores)
    gene = numbers.map(lambda x: tuple(sorted(x)))
    made = st.lists(gene, min_size=max(1, free), max_size=genes).map(lambda x: space_of(*x))
    return made.filter(lambda space: len(space.free_groups) >= free)


def allocations(space: AllocationSpace) -> st.SearchStrategy[Allocation]:
    """Any allocation of a space."""
    return st.tuples(*[st.sampled_from(gene.cores) for gene in space.groups])


def is_allowed(space: AllocationSpace, allocation: Allocation) -> bool:
    return len(allocation) == len(space.groups) and all(
        core in gene.cores for core, gene in zip(allocation, space.groups, strict=True)
    )


def hashed(allocation: Allocation) -> Fitness:
    """Costs that follow no rule; many allocations cost the same."""
    bits = int(np.random.default_rng(list(allocation)).integers(1 << 30))
    return Fitness(latency=bits % 7, energy=float(bits // 7 % 5), memory=bits // 35 % 3)


def hashed_or_not(allocation: Allocation) -> Fitness | None:
    """The same, but about every second allocation cannot be scheduled."""
    return hashed(allocation) if np.random.default_rng(sum(allocation)).random() < 0.5 else None


def separable(allocation: Allocation) -> Fitness:
    """Each gene has a cost of its own on each core: latency is least in one place only.

    What gene ``i`` costs least on is core ``i % 3``; energy is the other way round.
    """
    far = sum((core - i) % 3 for i, core in enumerate(allocation))
    return Fitness(latency=10 + far, energy=float(10 + 2 * len(allocation) - far), memory=far)


def each(fitness: Callable[[Allocation], Fitness | None]) -> Evaluate:
    """What evaluates several allocations one by one."""
    return lambda several: [fitness(allocation) for allocation in several]


@dataclass
class Counting:
    """Evaluates, and takes down what it was asked for."""

    fitness: Callable[[Allocation], Fitness | None] = hashed
    calls: list[tuple[Allocation, ...]] = field(default_factory=list[tuple[Allocation, ...]])

    def __call__(self, several: Sequence[Allocation]) -> list[Fitness | None]:
        self.calls.append(tuple(several))
        return [self.fitness(allocation) for allocation in several]

    @property
    def asked(self) -> list[Allocation]:
        return [allocation for call in self.calls for allocation in call]


def individual(allocation: Allocation, *costs: float) -> Individual:
    """One with a latency, an energy and a memory peak, or without a schedule."""
    if not costs:
        return Individual(allocation=allocation, fitness=None)
    latency, energy, memory = (*costs, 0, 0)[:3]
    fitness = Fitness(latency=int(latency), energy=float(energy), memory=int(memory))
    return Individual(allocation=allocation, fitness=fitness)


def dominates(one: Sequence[float], other: Sequence[float]) -> bool:
    """As good in everything, and better in something."""
    return all(a <= b for a, b in zip(one, other, strict=True)) and tuple(one) != tuple(other)
