"""New allocations out of old ones: crossover and mutation; allowed cores stay allowed."""

from __future__ import annotations

from typing import Final

import numpy as np

from nestmap.model.multicore.allocation import Allocation, GeneSpace

Random = np.random.Generator

STRETCHED: Final = 0.4
"""How many of the mutations move a stretch of genes to one core."""

REASSIGNED: Final = 0.4
"""How many give single genes other cores; all others swap the cores of two stretches."""


def random_allocation(space: GeneSpace, random: Random) -> Allocation:
    """Any allowed core for each gene, all equally likely."""
    return tuple(gene.cores[_any(len(gene.cores), random)] for gene in space.genes)


def crossed(space: GeneSpace, one: Allocation, other: Allocation, random: Random) -> Allocation:
    """Two-point crossover: the first one, but with a stretch of the free genes of the other."""
    first, end = sorted(random.choice(len(space.free) + 1, 2, replace=False).tolist())
    child = list(one)
    for gene in space.free[first:end]:
        child[gene] = other[gene]
    return tuple(child)


def mutated(space: GeneSpace, allocation: Allocation, random: Random) -> Allocation:
    """A stretch of genes moved to one core, some genes reassigned, or two stretches swapped."""
    chance = random.random()
    if chance < STRETCHED:
        return stretched(space, allocation, random)
    if chance < STRETCHED + REASSIGNED:
        return reassigned(space, allocation, random)
    return swapped(space, allocation, random)


def stretched(space: GeneSpace, allocation: Allocation, random: Random) -> Allocation:
    """Two or more free genes in a row, up to half of them, all on one core where they may be.

    Single genes that move away from their neighbours often only cause transfers. It may be that
    nothing changes.
    """
    count = len(space.free)
    length = min(count, 2 + _any(max(1, count // 2 - 1), random))
    first = _any(count - length + 1, random)
    stretch = space.free[first : first + length]
    cores = space.genes[stretch[_any(length, random)]].cores
    core = cores[_any(len(cores), random)]
    child = list(allocation)
    for gene in stretch:
        child[gene] = core if core in space.genes[gene].cores else child[gene]
    return tuple(child)


def reassigned(space: GeneSpace, allocation: Allocation, random: Random) -> Allocation:
    """Each of the ``n`` free genes on another of its cores with probability ``1/n``.

    Where chance takes none, any one of them.
    """
    taken = np.flatnonzero(random.random(len(space.free)) * len(space.free) < 1).tolist()
    child = list(allocation)
    for place in taken or [_any(len(space.free), random)]:
        gene = space.free[place]
        others = [core for core in space.genes[gene].cores if core != allocation[gene]]
        child[gene] = others[_any(len(others), random)]
    return tuple(child)


def swapped(space: GeneSpace, allocation: Allocation, random: Random) -> Allocation:
    """Two stretches of up to a third of the free genes have changed their cores, gene by gene.

    Genes that may not run on the other one's core keep their own. So what the cores have to do
    stays about the same. It may be that nothing changes.
    """
    count = len(space.free)
    length = 1 + _any(max(1, count // 3), random)
    first, second = _any(count - length + 1, random), _any(count - length + 1, random)
    child = list(allocation)
    for place in range(length):
        one, other = space.free[first + place], space.free[second + place]
        if child[one] in space.genes[other].cores and child[other] in space.genes[one].cores:
            child[one], child[other] = child[other], child[one]
    return tuple(child)


def _any(count: int, random: Random) -> int:
    return int(random.integers(count))
