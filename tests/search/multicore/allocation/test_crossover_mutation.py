"""What crossover and mutation make of allocations, and what they leave alone."""

from collections import Counter
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nestmap.model.multicore.allocation import Allocation, AllocationSpace
from nestmap.search.multicore.allocation.genetic import (
    Random,
    crossover,
    mutate,
    mutate_gene,
    mutate_stretch,
    random_allocation,
    swap_cores,
)
from tests.search.multicore.allocation.spaces import (
    allocations,
    is_allowed,
    space_of,
    spaces,
    square,
)

Mutation = Callable[[AllocationSpace, Allocation, Random], Allocation]

mutations = pytest.mark.parametrize("mutation", [mutate, mutate_gene, mutate_stretch, swap_cores])
free_spaces = spaces(free=1)


def generator(seed: int = 0) -> Random:
    return np.random.default_rng(seed)


seeds = st.integers(0, 2**32)


@mutations
@given(st.data(), free_spaces, seeds)
def test_a_mutation_is_allowed(
    mutation: Mutation, data: st.DataObject, space: AllocationSpace, seed: int
) -> None:
    parent = data.draw(allocations(space))
    assert is_allowed(space, mutation(space, parent, generator(seed)))


@given(st.data(), free_spaces, seeds)
def test_reassigning_changes_something(
    data: st.DataObject, space: AllocationSpace, seed: int
) -> None:
    parent = data.draw(allocations(space))
    assert mutate_gene(space, parent, generator(seed)) != parent


@mutations
@given(st.data(), free_spaces, seeds)
def test_a_mutation_depends_on_its_random_numbers_only(
    mutation: Mutation, data: st.DataObject, space: AllocationSpace, seed: int
) -> None:
    parent = data.draw(allocations(space))
    made = [mutation(space, parent, generator(seed)) for _ in range(2)]
    assert made[0] == made[1]


@given(spaces(), seeds)
def test_a_random_allocation_is_allowed(space: AllocationSpace, seed: int) -> None:
    assert is_allowed(space, random_allocation(space, generator(seed)))


def test_random_allocations_are_equally_likely() -> None:
    space, random = space_of((0, 1), (5,), (2, 3, 7)), generator()
    counts = Counter(random_allocation(space, random) for _ in range(6000))
    assert len(counts) == 6
    assert all(850 < count < 1150 for count in counts.values())


@given(st.data(), free_spaces, seeds)
def test_a_crossover_is_one_parent_with_a_stretch_of_the_other(
    data: st.DataObject, space: AllocationSpace, seed: int
) -> None:
    one, other = data.draw(allocations(space)), data.draw(allocations(space))
    child = crossover(space, one, other, generator(seed))
    assert is_allowed(space, child)
    taken = [
        place
        for place, (core, first, second) in enumerate(zip(child, one, other, strict=True))
        if first != second and core == second
    ]
    for place, (core, first) in enumerate(zip(child, one, strict=True)):
        assert core == first or place in taken
    within = range(taken[0], taken[-1] + 1) if taken else ()
    assert all(child[place] == other[place] for place in within)


def test_a_crossover_takes_any_stretch() -> None:
    space, random = square(4, 2), generator()
    zeros, ones = (0,) * 4, (1,) * 4
    found = {crossover(space, zeros, ones, random) for _ in range(500)}
    stretches = {
        tuple(int(first <= i < end) for i in range(4))
        for first in range(4)
        for end in range(first + 1, 5)
    }
    assert found == stretches


@given(st.data(), spaces(genes=8, free=2), seeds)
def test_a_swap_gives_the_cores_to_others(
    data: st.DataObject, space: AllocationSpace, seed: int
) -> None:
    parent = data.draw(allocations(space))
    child = swap_cores(space, parent, generator(seed))
    assert sorted(child) == sorted(parent)
    assert all(child[i] == core for i, core in enumerate(parent) if i not in space.free_groups)


def test_a_swap_takes_any_two_stretches() -> None:
    space, random = square(6, 6), generator()
    found = {swap_cores(space, (0, 1, 2, 3, 4, 5), random) for _ in range(1000)}
    assert (1, 0, 2, 3, 4, 5) in found
    assert (5, 1, 2, 3, 4, 0) in found
    assert (2, 3, 0, 1, 4, 5) in found
    assert (0, 1, 2, 3, 4, 5) in found


@pytest.mark.parametrize("genes", [1, 2, 5])
def test_as_many_genes_are_reassigned_as_the_reference_does_but_never_none(genes: int) -> None:
    space, random, tries = square(genes, 3), generator(), 4000
    parent = (0,) * genes
    counts = Counter(
        sum(core != 0 for core in mutate_gene(space, parent, random)) for _ in range(tries)
    )
    none = (1 - 1 / genes) ** genes
    single = genes * (1 / genes) * (1 - 1 / genes) ** (genes - 1)
    assert counts[0] == 0
    assert abs(counts[1] / tries - none - single) < 0.04


def test_a_reassigned_gene_gets_any_other_core() -> None:
    space, random = space_of((4,), (1, 2, 5)), generator()
    counts = Counter(mutate_gene(space, (4, 2), random) for _ in range(2000))
    assert set(counts) == {(4, 1), (4, 5)}
    assert 800 < counts[4, 1] < 1200


@given(st.data(), free_spaces, seeds)
def test_a_stretch_of_genes_is_moved_to_one_core(
    data: st.DataObject, space: AllocationSpace, seed: int
) -> None:
    parent = data.draw(allocations(space))
    child = mutate_stretch(space, parent, generator(seed))
    changed = [i for i, core in enumerate(child) if core != parent[i]]
    assert len({child[i] for i in changed}) <= 1
    for i in range(changed[0], changed[-1] + 1) if changed else ():
        core = child[changed[0]]
        assert child[i] == core or core not in space.groups[i].cores
