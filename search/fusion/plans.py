"""Plans of a segment: its tiles, and which memories hold its tensors and constants.

A plan has one home for all tensors between the nodes of its segment. While a layer of a tile runs,
that home also holds what other nodes of the tile wait for, what tiles keep for later ones, whole
tensors between segments, and the constants that reside there: the layer's mapping has the rest.

A larger tile reads halos and constants less often, so of the tiles with so many columns only those
with the most rows that fit are plans, and those with the next fewer.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import product
from math import prod
from typing import final

import numpy as np

from nestmap.model import Layer, MappingProblem, SegmentInputs, SegmentPin
from nestmap.model.dims import LayerOperand
from nestmap.model.units import Bits, Count
from nestmap.search.fusion.grids import Grids
from nestmap.search.fusion.segment import Segment, SegmentNode, outside_name, segment_of
from nestmap.search.fusion.tiles import AxisTiles, Grid, Needed, Room, hull, room_of
from nestmap.search.tensor_homes import Home, TensorGraph, serving_levels, tensor_bits

# --- the tensors and memories of a segment ---


@final
@dataclass(frozen=True)
class Held:
    """The room of a tensor between nodes of a segment: from its first writer to its last reader.

    A vector operator that works in place writes into the same room again.
    """

    writers: tuple[int, ...]
    last: int


@final
@dataclass(frozen=True)
class Staged:
    """An input that comes from the outermost memory: where it is copied first, and who reads it.

    ``tensor`` is its number if another node of the network writes it. What a tile axis does not
    index stays while the tiles along it run, as the keys of a head do while its queries come.
    """

    tensor: int | None
    reads: tuple[tuple[int, int], ...]
    memory: str

    @property
    def last(self) -> int:
        """The last node that reads it."""
        return max(n for n, _ in self.reads)

    def needs(self, grid: Grid) -> list[Needed]:
        """The range that a tile needs along each axis."""
        return [
            hull([axis.reads[x] for x in self.reads])
            if self._is_cut(axis)
            else Needed.whole(axis.count)
            for axis in grid.axes
        ]

    def room(self, grid: Grid) -> Room:
        """The room of its copy while tiles run."""
        return room_of(self._bits(grid), self.needs(grid), self._keeps(grid))

    def parts(self, grid: Grid) -> list[tuple[Bits, Count]]:
        """The bits that a tile copies, and how many tiles copy as much."""
        parts = [(self._bits(grid), 1)]
        for keep, needs in zip(self._keeps(grid), self.needs(grid), strict=True):
            first = np.maximum(needs.first, needs.done) if keep else needs.first
            lengths, counts = np.unique(np.maximum(needs.end - first, 0), return_counts=True)
            pairs = list(zip(lengths.tolist(), counts.tolist(), strict=True))
            parts = [(bits * length, n * count) for bits, n in parts for length, count in pairs]
        return parts

    def is_cut_by_all(self, segment: Segment) -> bool:
        """Whether all tile axes index it."""
        n, place = self.reads[0]
        return [] not in _indexed(segment.nodes[n], place)

    def _is_cut(self, axis: AxisTiles) -> bool:
        return self.reads[0] in axis.reads

    def _keeps(self, grid: Grid) -> list[bool]:
        return [axis.retain or not self._is_cut(axis) for axis in grid.axes]

    def _bits(self, grid: Grid) -> Bits:
        """The bits of an element of the tile axes."""
        n, place = self.reads[0]
        use = grid.segment.nodes[n].reads[place].use
        cut = [i for found in _indexed(grid.segment.nodes[n], place) for i in found]
        return prod(x.size for i, x in enumerate(use.axes) if i not in cut) * use.precision


def _indexed(node: SegmentNode, place: int) -> list[list[int]]:
    """The axes of an input that each tile axis indexes."""
    axes = node.reads[place].use.axes
    return [[i for i, x in enumerate(axes) if d in x.dimensions] for d in node.dimensions]


Taken = dict[str, list[Bits]]
"""[memory][node] the bits that are taken while each node of a segment runs."""

Rooms = dict[tuple[Grid, str, tuple[Staged, ...]], Mapping[str, Bits]]
"""The most that is taken of each memory at a time, by tiles, home and inputs that are copied."""


@final
@dataclass(frozen=True)
class FusedSteps:
    """A segment on an accelerator: what stays within it, and the memories that may hold it.

    ``inner`` are the nodes whose results no step outside reads, ``held`` the room of these, and
    ``tensors`` the numbers of those tensors that are within as a whole. ``homes`` are the memories
    that can hold what is within, ``residences`` those that can hold the constants of all layers.
    ``staged`` are the inputs that can be copied first, beside tensors in each home.
    """

    segment: Segment
    inner: frozenset[int]
    held: tuple[Held, ...]
    tensors: tuple[int, ...]
    homes: tuple[str, ...]
    residences: tuple[str, ...]
    staged: dict[str, tuple[Staged, ...]]
    grids: Grids
    rooms: Rooms = field(default_factory=Rooms)

    @cached_property
    def constants(self) -> tuple[tuple[int, Layer, LayerOperand], ...]:
        """The constants of all layers, by node."""
        layers = ((n, x.step.layer) for n, x in enumerate(self.segment.nodes))
        return tuple(
            (n, layer, x.name)
            for n, layer in layers
            if layer is not None
            for x in layer.inputs
            if x.constant
        )

    @cached_property
    def constant_bits(self) -> Bits:
        """The bits of all constants."""
        return sum(tensor_bits(layer, name) for _, layer, name in self.constants)

    def room(self, grid: Grid, home: str, staged: tuple[Staged, ...]) -> Taken:
        """What tensors within, and inputs that are copied first, take of memories."""
        nodes = range(len(self.segment.nodes))
        found: Taken = {x: [0] * len(nodes) for x in (home, *(one.memory for one in staged))}
        for held in self.held:
            rooms = [grid.rooms[n] for n in held.writers]
            room = Room(max(x.during for x in rooms), max(x.kept for x in rooms))
            for n in nodes:
                found[home][n] += room.during if held.writers[0] <= n <= held.last else room.kept
        for one in staged:
            room = one.room(grid)
            for n in nodes:
                found[one.memory][n] += room.during if n <= one.last else room.kept
        return found

    def most(self, grid: Grid, home: str, staged: tuple[Staged, ...]) -> Mapping[str, Bits]:
        """The most bits that are taken of each memory at a time."""
        key = grid, home, staged
        if key not in self.rooms:
            self.rooms[key] = {x: max(bits) for x, bits in self.room(*key).items()}
        return self.rooms[key]


def fused_steps(
    graph: TensorGraph, problems: Mapping[str, MappingProblem], first: int, last: int
) -> FusedSteps | str:
    """The segment of these steps on an accelerator; if they cannot run tile by tile, why."""
    segment = segment_of(graph, first, last)
    if isinstance(segment, str):
        return segment
    used = [problems[x.step.layer.name] for x in segment.nodes if x.step.layer is not None]
    pinned = [x.layer.name for x in used if x.constraints.memory_levels]
    if pinned:
        return f"the mapping fixes the memories of {pinned[0]}"
    inner = frozenset(n for n in range(len(segment.nodes)) if _is_inner(graph, segment, n))
    if not inner:
        return "nothing stays within"
    held = tuple(_held(graph, segment, inner))
    written = {graph.tensor_of[segment.nodes[n].step.written] for n in inner}
    serving = [{x.name for x in serving_levels(graph, t, problems)} for t in written]
    homes = [x.name for x in used[0].accelerator.memories if all(x.name in y for y in serving)]
    if not homes:
        return "no memory on chip holds all tensors within for all units"
    whole = tuple(sorted(t for t in written if _is_whole(graph, segment, t)))
    staged = {home: tuple(_staged(graph, segment, problems, home)) for home in homes}
    residences = tuple(_residences(used))
    return FusedSteps(segment, inner, held, whole, tuple(homes), residences, staged, Grids(segment))


def _is_inner(graph: TensorGraph, segment: Segment, n: int) -> bool:
    """Whether no step outside reads the result of a node: it is within, or overwritten there."""
    buffer = segment.nodes[n].step.written
    again = any(x.step.written == buffer for x in segment.nodes[n + 1 :])
    return again or _is_whole(graph, segment, graph.tensor_of[buffer])


def _is_whole(graph: TensorGraph, segment: Segment, t: int) -> bool:
    """Whether a tensor is written and read within a segment only."""
    is_within = segment.first <= graph.first(t) and graph.last(t) <= segment.last
    return is_within and graph.tensors[t].stays_out is None


def _held(graph: TensorGraph, segment: Segment, inner: frozenset[int]) -> Iterator[Held]:
    """The room of each buffer for the nodes within that write it."""
    writers: dict[int, list[int]] = {}
    for n in sorted(inner):
        writers.setdefault(segment.nodes[n].step.written, []).append(n)
    for buffer, nodes in writers.items():
        is_last = {x.step.written for x in segment.nodes[nodes[-1] + 1 :]} & {buffer}
        last = max(n for n, _ in segment.readers[nodes[-1]])
        assert is_last or last == graph.buffers[buffer].last - segment.first
        yield Held(tuple(nodes), last)


def _residences(problems: Sequence[MappingProblem]) -> Iterator[str]:
    """The memories on chip, each one instance, that hold the constants of all layers."""
    accelerator = problems[0].accelerator
    constants = [(x, y.name) for x in problems for y in x.layer.inputs if y.constant]
    for level in accelerator.memories:
        holds = (level in problem.levels(name)[:-1] for problem, name in constants)
        if constants and accelerator.instances_of(level) == 1 and all(holds):
            yield level.name


def _staged(
    graph: TensorGraph, segment: Segment, problems: Mapping[str, MappingProblem], home: str
) -> Iterator[Staged]:
    """The inputs from outside that tile axes index in the same place as the last output, if at all.

    Their copies are at the home, or in the last memory on chip that holds them for all units.
    """
    found: dict[tuple[int | None, str], list[tuple[int, int]]] = {}
    for n, node in enumerate(segment.nodes):
        for place, read in enumerate(node.reads):
            if node.step.layer is None or read.writer is not None or read.use.constant:
                continue
            buffers = node.step.operands.get(read.use.operand)
            tensor = None if buffers is None else graph.tensor_of[buffers[0]]
            at = _indexed(node, place)
            if all(x in ([], [axis]) for x, axis in zip(at, segment.axes, strict=True)):
                name = "" if tensor is not None else outside_name(node.nest, read.use)
                found.setdefault((tensor, name), []).append((n, place))
    for (tensor, _), reads in found.items():
        uses = [segment.nodes[n].reads[place].use for n, place in reads]
        sizes = {tuple(x.size for x in use.axes) for use in uses}
        ways = {str(_indexed(segment.nodes[n], place)) for n, place in reads}
        memories = _common_memories(segment, problems, reads)
        if len(sizes) == len(ways) == 1 and memories:
            yield Staged(tensor, tuple(reads), home if home in memories else memories[-1])


def _common_memories(
    segment: Segment, problems: Mapping[str, MappingProblem], reads: Sequence[tuple[int, int]]
) -> list[str]:
    """The memories on chip, each one instance, that hold all operands that read an input."""
    found: list[list[str]] = []
    for n, place in reads:
        node = segment.nodes[n]
        problem = problems[node.nest.name]
        levels = problem.levels(node.reads[place].use.operand)[:-1]
        found.append([x.name for x in levels if problem.accelerator.instances_of(x) == 1])
    return [x for x in found[0] if all(x in other for other in found)]


# --- plans ---


@final
@dataclass(frozen=True)
class Plan:
    """How a segment runs.

    ``home``: the memory of all tensors between its nodes. ``residence``: the memory in which the
    constants of its layers stay while all tiles run; ``None``: each tile fetches them. ``staged``:
    inputs that are copied from the outermost memory first, each part once along axes that retain or
    do not index it; the others are read where they are, halos again.
    """

    steps: FusedSteps
    grid: Grid
    home: str
    residence: str | None
    staged: tuple[Staged, ...]

    @cached_property
    def taken(self) -> tuple[Counter[str], ...]:
        """[node] what the tensors within, inputs and constants take of each memory meanwhile."""
        room = self.steps.room(self.grid, self.home, self.staged)
        found = [
            Counter({x: bits[n] for x, bits in room.items()})
            for n in range(len(self.steps.segment.nodes))
        ]
        if self.residence is not None:
            for taken in found:
                taken[self.residence] += self.steps.constant_bits
        return tuple(found)


def plans_of(
    steps: FusedSteps,
    taken: Mapping[str, Bits],
    outside: Mapping[int, Home],
    sizes: Mapping[str, Bits],
    pin: SegmentPin,
) -> Iterator[Plan]:
    """The plans of a segment beside whole tensors that take so much of each memory.

    ``outside``: the homes of the tensors that come from outside; ``sizes`` those of all memories;
    ``pin``: what is fixed of the segment.
    """
    homes = steps.homes if pin.home is None else (pin.home,)
    residences = (None, *steps.residences) if pin.weights is None else (pin.residence,)
    for home, residence in product(homes, residences):
        left = Counter(sizes)
        left.subtract(taken)
        if residence is not None:
            left[residence] -= steps.constant_bits
        if left[home] < 0 or (residence is not None and left[residence] < 0):
            continue
        from_far = tuple(x for x in steps.staged[home] if _is_far(x, outside))
        cut = tuple(x for x in from_far if x.is_cut_by_all(steps.segment))
        copied = (cut, from_far) if cut else (from_far,)
        options = {SegmentInputs.OUTSIDE: ((),), SegmentInputs.COPIED: copied}
        inputs = options if pin.inputs is None else (pin.inputs,)
        for staged in dict.fromkeys(x for given in inputs for x in options[given]):
            fits = partial(_has_room, steps, home, staged, left)
            for grid in _grids(steps, pin, fits):
                if fits(grid) and is_covered(steps, grid):
                    yield Plan(steps, grid, home, residence, staged)


def _grids(steps: FusedSteps, pin: SegmentPin, fits: Callable[[Grid], bool]) -> Iterator[Grid]:
    """The tiles of a segment that are tried, as far as they are not fixed."""
    if pin.tiles:
        yield from _of_fixed_sizes(steps, pin)
        return
    retain = _retained(steps, pin)
    for grid in steps.grids.largest(fits):
        if retain in (None, tuple(axis.retain for axis in grid.axes)):
            yield grid


def smallest_tiles(steps: FusedSteps, pin: SegmentPin) -> list[Grid]:
    """The smallest tiles of a segment that are tried; none where fixed sizes cut nothing."""
    return list(_of_fixed_sizes(steps, pin) if pin.tiles else steps.grids.smallest())


def _of_fixed_sizes(steps: FusedSteps, pin: SegmentPin) -> Iterator[Grid]:
    segment, fixed = steps.segment, {x.dimension: x.size for x in pin.tiles}
    axes = enumerate(segment.nodes[-1].dimensions)
    sizes = tuple(fixed.get(d, segment.size(a)) for a, d in axes)
    return (x for x in steps.grids.of_sizes(sizes, _retained(steps, pin)) if x.count > 1)


def _retained(steps: FusedSteps, pin: SegmentPin) -> tuple[bool, ...] | None:
    again, axes = pin.recomputed, steps.segment.nodes[-1].dimensions
    return None if again is None else tuple(d not in again for d in axes)


def _has_room(
    steps: FusedSteps, home: str, staged: tuple[Staged, ...], left: Mapping[str, Bits], grid: Grid
) -> bool:
    return all(bits <= left[x] for x, bits in steps.most(grid, home, staged).items())


def is_covered(steps: FusedSteps, grid: Grid) -> bool:
    """Whether tiles compute all of the tensors that steps outside read, and some of each other."""
    nodes = range(len(steps.segment.nodes))
    is_whole = all(axis.covers(n) for n in nodes if n not in steps.inner for axis in grid.axes)
    return is_whole and all(grid.computed(n) > 0 for n in nodes)


def _is_far(staged: Staged, outside: Mapping[int, Home]) -> bool:
    return staged.tensor is None or outside[staged.tensor] is None
