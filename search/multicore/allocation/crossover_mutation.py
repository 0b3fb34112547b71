"""Crossover and mutation of allocations; both respect the allowed cores of each node group."""

from __future__ import annotations

from typing import Final

import numpy as np

from nestmap.model.multicore.allocation import Allocation, AllocationSpace

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
