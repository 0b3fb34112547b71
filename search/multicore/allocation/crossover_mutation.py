"""New allocations out of old ones: crossover and mutation; allowed cores stay allowed."""

from __future__ import annotations

from typing import Final

import numpy as np

from nestmap.model.multicore.allocation import Allocation, AllocationSpace

Random = np.random.Generator

STRETCHED: Final = 0.4
"""How many of the mutations move a stretch of genes to one core."""

REASSIGNED: Final = 0.4
"""How many give single genes other cores; all others swap the cores of two stretches."""


def random_allocation(space: AllocationSpace, random: Random) -> Allocation:
    """Any allowed core for each gene, all equally likely."""
    return tuple(gene.cores[_any(len(gene.cores), random)] for gene in space.groups)


def crossover(
    space: AllocationSpace, one: Allocation, other: Allocation, random: Random
) -> Allocation:
    """Two-point crossover: the first one, but with a stretch of the free genes of the other."""
    first, end = sorted(random.choice(len(space.free_groups) + 1, 2, replace=False).tolist())
    child = list(one)
    for gene in space.free_groups[first:end]:
        child[gene] = other[gene]
    return tuple(child)


def mutate(space: AllocationSpace, allocation: Allocation, random: Random) -> Allocation:
    """A stretch of genes moved to one core, some genes reassigned, or two stretches swapped."""
    chance = random.random()
    if chance < STRETCHED:
        return mutate_stretch(space, allocation, random)
    if chance < STRETCHED + REASSIGNED:
        return mutate_gene(space, allocation, random)
    return swap_cores(space, allocation, random)


def mutate_stretch(space: AllocationSpace, allocation: Allocation, random: Random) -> Allocation:
    """Two or more free genes in a row, up to half of them, all on one core where they may be.

    Single genes that move away from their neighbours often only cause transfers. It may be that
    nothing changes.
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
    """Each of the ``n`` free genes on another of its cores with probability ``1/n``.

    Where chance takes none, any one of them.
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
    """Two stretches of up to a third of the free genes have changed their cores, gene by gene.

    Genes that may not run on the other one's core keep their own. So what the cores have to do
    stays about the same. It may be that nothing changes.
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
