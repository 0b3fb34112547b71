"""Tiles of segments, executed element by element: what they compute, read and keep."""

from itertools import product
from math import prod
from typing import NamedTuple

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from nestmap.model.arrays import Ints
from nestmap.search.fusion.segment import Segment
from nestmap.search.fusion.tiles import Grid, axis_tiles, tile_layer
from tests.search.fusion.networks import random_network, whole_segment
from tests.sweeps import some_of

Element = tuple[int, ...]
"""A place along the tile axes."""

Elements = frozenset[Element]


class Event(NamedTuple):
    """What a node does in a tile: it computes elements, and reads a box of each input for that."""

    node: int
    computed: Elements
    read: dict[int, Elements]
    """[position of the input]"""


class Case(NamedTuple):
    """A random network, the sizes of its tiles along each axis, and what is retained."""

    seed: int
    sizes: tuple[int, int]
    retain: tuple[bool, bool]

    def grid(self) -> Grid:
        """The tiles of the whole network as one segment, if it is one."""
        _, segment = whole_segment(random_network(self.seed))
        assume(isinstance(segment, Segment))
        assert isinstance(segment, Segment)
        axes = range(len(segment.axes))
        sizes = [1 + self.sizes[a] % segment.size(a) for a in axes]
        tiles = (axis_tiles(segment, a, sizes[a], retain=self.retain[a]) for a in axes)
        return Grid(segment, tuple(tiles))


TILE = st.integers(0, 11)
CASES = st.builds(
    Case, st.integers(0, 100_000), st.tuples(TILE, TILE), st.tuples(st.booleans(), st.booleans())
)


def execute(grid: Grid) -> list[Event]:
    """All that happens in order: tile by tile, the inner axis first, node by node."""
    segment = grid.segment
    events: list[Event] = []
    for at in product(*(range(axis.count) for axis in grid.axes)):
        for n, node in enumerate(segment.nodes):
            ranges = [(x.first[n], x.end[n]) for x in grid.axes]
            computed = box([(first[i], end[i]) for (first, end), i in zip(ranges, at, strict=True)])
            read = {
                place: box(
                    [
                        (x.reads[n, place].first[i], x.reads[n, place].end[i])
                        for x, i in zip(grid.axes, at, strict=True)
                    ]
                )
                for place in range(len(node.reads))
                if all((n, place) in x.reads for x in grid.axes)
            }
            events.append(Event(n, computed, read if computed else {}))
    return events


def box(ranges: list[tuple[Ints, Ints]]) -> Elements:
    """All elements within ranges."""
    return frozenset(product(*(range(int(first), int(end)) for first, end in ranges)))


def needs(segment: Segment, n: int, place: int, outputs: Elements) -> Elements:
    """The smallest box with all that a node reads of an input for these outputs, by its loops."""
    node = segment.nodes[n]
    found: list[range] = []
    for a, dimension in enumerate(node.dimensions):
        along = next(x for x in node.reads[place].use.axes if dimension in x.dimensions)
        touched = {
            along.offset + sum(x.coefficient * i for x, i in zip(along.terms, indices, strict=True))
            for at in {element[a] for element in outputs}
            for indices in product(
                *(
                    [at] if x.dimension == dimension else range(node.nest.sizes[x.dimension])
                    for x in along.terms
                )
            )
        }
        inside = range(max(0, min(touched)), min(along.size, max(touched) + 1))
        found.append(inside)
    return frozenset(product(*found))


@given(case=CASES)
@settings(max_examples=some_of(1200), deadline=None)
def test_what_a_tile_reads_has_been_computed_and_nothing_else_is(case: Case) -> None:
    """Every read finds its elements, and nodes compute no more than later ones need then."""
    grid = case.grid()
    segment, made = grid.segment, [set[Element]() for _ in grid.segment.nodes]
    events = execute(grid)
    for start in range(0, len(events), len(segment.nodes)):
        tile = events[start : start + len(segment.nodes)]
        for event in tile:
            for place, read in segment_reads(segment, event):
                assert event.read[place] == needs(segment, event.node, place, event.computed)
                if read is not None:
                    assert event.read[place] <= made[read]
            made[event.node] |= event.computed
        for n, readers in enumerate(segment.readers[:-1]):
            wanted = [tile[m].read[place] for m, place in readers if tile[m].computed]
            assert tile[n].computed <= hull(wanted)
    whole = product(*(range(segment.size(a)) for a in range(len(segment.axes))))
    assert made[-1] == {*whole}


def segment_reads(segment: Segment, event: Event) -> list[tuple[int, int | None]]:
    """The inputs that an event reads, and the nodes that write them."""
    return [(place, segment.nodes[event.node].reads[place].writer) for place in event.read]


def hull(boxes: list[Elements]) -> Elements:
    """The smallest box around all of these."""
    some = [x for x in boxes if x]
    if not some:
        return frozenset()
    axes = range(len(next(iter(some[0]))))
    ranges = [
        range(min(e[a] for x in some for e in x), max(e[a] for x in some for e in x) + 1)
        for a in axes
    ]
    return frozenset(product(*ranges))


@given(case=CASES)
@settings(max_examples=some_of(1200), deadline=None)
def test_a_node_that_retains_computes_nothing_twice(case: Case) -> None:
    """Along axes that recompute it may; the last output is computed once in any case."""
    grid = case.grid()
    events = execute(grid)
    for n in range(len(grid.segment.nodes)):
        times = [e for event in events if event.node == n for e in event.computed]
        if all(axis.retain for axis in grid.axes) or n == len(grid.segment.nodes) - 1:
            assert len(times) == len({*times})
        assert len(times) == grid.computed(n)


@given(case=CASES)
@settings(max_examples=some_of(1200), deadline=None)
def test_tensors_have_room_at_every_step(case: Case) -> None:
    """What a later read needs of a tensor is never more than the room that is counted for it."""
    grid = case.grid()
    segment, events = grid.segment, execute(grid)
    for n in range(len(segment.nodes) - 1):
        across = elements_across(segment, n)
        room = grid.rooms[n]
        readers = {m for m, _ in segment.readers[n]}
        kept, during = [0], [0]
        for t, event in enumerate(events):
            live = len(live_after(segment, events, n, t))
            is_used = n <= event.node < max(readers)
            (during if is_used else kept).append(live)
        bits = segment.nodes[n].nest.output.precision * across
        assert max(kept) * bits <= room.kept
        assert max(during) * bits <= room.during
        used = [
            len(event.read[place] | live_after(segment, events, n, t))
            for t, event in enumerate(events)
            for m, place in segment.readers[n]
            if event.node == m and event.read
        ]
        assert max(used, default=0) * bits <= room.during
        if moves_by_one(segment, n) and all(axis.retain for axis in grid.axes):  # none is wasted
            assert max(kept) * bits == room.kept


def moves_by_one(segment: Segment, n: int) -> bool:
    """Whether one node reads an output, in windows that move from one element to the next."""
    uses = [segment.nodes[m].reads[place].use for m, place in segment.readers[n]]
    steps = {x.coefficient for use in uses for axis in use.axes for x in axis.terms}
    return len(uses) == 1 and steps == {1}


def live_after(segment: Segment, events: list[Event], n: int, t: int) -> set[Element]:
    """The elements of a tensor that have been computed and are read before they are again."""
    made = {e for event in events[: t + 1] if event.node == n for e in event.computed}
    live, again = set[Element](), set[Element]()
    for event in events[t + 1 :]:
        for m, place in segment.readers[n]:
            if m == event.node and event.computed:
                live |= (event.read[place] & made) - again
        if event.node == n:
            again |= event.computed
    return live


def elements_across(segment: Segment, n: int) -> int:
    """The elements of an output at one place along the tile axes."""
    axes = segment.nodes[n].nest.output.axes
    return prod(x.size for i, x in enumerate(axes) if i not in segment.axes)


@given(case=CASES)
@settings(max_examples=some_of(300), deadline=None)
def test_kinds_stand_for_all_tiles(case: Case) -> None:
    """The work of all kinds, as often as there are tiles of them, is that of all tiles."""
    grid = case.grid()
    kinds = list(grid.kinds())
    assert sum(count for _, count in kinds) == grid.count
    for n, node in enumerate(grid.segment.nodes):
        if node.step.layer is None:
            continue
        layers = [(tile_layer(grid, n, at), count) for at, count in kinds]
        macs = sum(layer.macs * count for layer, count in layers if layer is not None)
        whole = prod(node.nest.sizes[d] for d in node.dimensions)
        assert macs == node.step.layer.macs // whole * grid.computed(n)
        for place, read in enumerate(node.reads):
            name, indices = read.use.operand, node.step.layer.operand(read.use.operand).indices
            if all((n, place) in axis.reads for axis in grid.axes) and len(indices) > 1:
                bits = sum(
                    count
                    * prod(
                        i.axis_length(tuple(layer.sizes[d] for d in i.dimensions))
                        for i in layer.operand(name).indices
                    )
                    * read.use.precision
                    for layer, count in layers
                    if layer is not None
                )
                assert grid.read_bits(n, place) <= bits
