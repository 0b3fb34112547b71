"""Tiles and their order are those of plain nested loops."""

from itertools import product
from math import ceil

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nestmap.model import Loop
from nestmap.model.multicore.tiling import Tiling

NAMES = ("A", "B", "C")
Ranges = dict[str, tuple[int, int]]


@st.composite
def tilings(draw: st.DrawFn) -> Tiling:
    """Up to three dimensions, cut by up to four loops, several over one dimension among them."""
    sizes = draw(st.lists(st.integers(1, 9), min_size=1, max_size=3))
    names = NAMES[: len(sizes)]
    cuts = draw(st.lists(st.tuples(st.sampled_from(names), st.integers(1, 5)), max_size=4))
    return Tiling(
        tuple(Loop(dimension=d, size=n) for d, n in zip(names, sizes, strict=True)),
        tuple(Loop(dimension=d, size=n) for d, n in cuts),
    )


def nested(tiling: Tiling) -> list[Ranges]:
    """The ranges of each node, by running through the outer loops from the outermost on."""
    sizes = {loop.dimension: loop.size for loop in tiling.loops}
    wanted = dict.fromkeys(sizes, 1)
    for loop in tiling.outer:
        wanted[loop.dimension] *= loop.size
    tile = {d: ceil(n / wanted[d]) for d, n in sizes.items()}
    found: list[Ranges] = []
    for values in product(*(range(loop.size) for loop in reversed(tiling.outer))):
        at, step = dict.fromkeys(sizes, 0), tile.copy()
        for loop, value in zip(tiling.outer, reversed(values), strict=True):
            at[loop.dimension] += value * step[loop.dimension]
            step[loop.dimension] *= loop.size
        ranges = {d: (at[d], min(at[d] + tile[d], sizes[d])) for d in sizes}
        if all(first < end for first, end in ranges.values()):
            found.append(ranges)
    return found


def ranges_of(tiling: Tiling) -> list[Ranges]:
    bounds = {d: (tiling.starts(d).tolist(), tiling.ends(d).tolist()) for d in tiling.sizes}
    return [
        {d: (starts[node], ends[node]) for d, (starts, ends) in bounds.items()}
        for node in range(tiling.count)
    ]


@given(tilings())
def test_nodes_are_those_of_nested_loops(tiling: Tiling) -> None:
    assert ranges_of(tiling) == nested(tiling)


@given(tilings())
def test_each_iteration_is_in_one_node(tiling: Tiling) -> None:
    every = product(*(range(loop.size) for loop in tiling.loops))
    found = sorted(
        at
        for ranges in ranges_of(tiling)
        for at in product(*(range(first, end) for first, end in ranges.values()))
    )
    assert found == sorted(every)


@given(tilings(), st.sets(st.sampled_from(NAMES)))
def test_groups_have_the_same_ranges(tiling: Tiling, some: set[str]) -> None:
    dimensions = [d for d in tiling.sizes if d in some]
    keys = [tuple(ranges[d] for d in dimensions) for ranges in ranges_of(tiling)]
    expected = [list(dict.fromkeys(keys)).index(key) for key in keys]
    assert tiling.groups(dimensions).tolist() == expected


@given(tilings(), st.sets(st.sampled_from(NAMES)))
def test_ended_nodes_have_the_last_tiles(tiling: Tiling, some: set[str]) -> None:
    dimensions = [d for d in tiling.sizes if d in some]
    expected = [
        all(ranges[d][1] == tiling.sizes[d] for d in dimensions) for ranges in ranges_of(tiling)
    ]
    assert tiling.is_last_tile(dimensions).tolist() == expected


def test_the_inner_one_of_two_loops_steps_by_one_tile() -> None:
    outer = (Loop(dimension="A", size=2), Loop(dimension="B", size=2), Loop(dimension="A", size=2))
    tiling = Tiling((Loop(dimension="A", size=8), Loop(dimension="B", size=3)), outer)
    assert tiling.starts("A").tolist() == [0, 2, 0, 2, 4, 6, 4, 6]
    assert tiling.starts("B").tolist() == [0, 0, 2, 2, 0, 0, 2, 2]
    assert tiling.ends("B").tolist() == [2, 2, 3, 3, 2, 2, 3, 3]


@pytest.mark.parametrize(("size", "parts", "tiles"), [(9, 4, 3), (10, 4, 4), (5, 9, 5), (1, 3, 1)])
def test_there_may_be_fewer_tiles_than_wanted(size: int, parts: int, tiles: int) -> None:
    tiling = Tiling((Loop(dimension="A", size=size),), (Loop(dimension="A", size=parts),))
    assert tiling.count == tiling.tiles["A"] == tiles
    assert tiling.ends("A")[-1] == size
