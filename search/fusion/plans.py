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
from nestmap.model.multicore.cn_layer import TensorUse
from nestmap.model.units import Bits, Count
from nestmap.search.fusion.grids import Grids
from nestmap.search.fusion.segment import Grid, Needed, Room, Segment, hull, room_of, segment_of
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
    """An input that comes from the outermost memory: the places where layers read it.

    ``tensor`` is its number if another node of the network writes it.
    """

    tensor: int | None
    reads: tuple[tuple[int, int], ...]

    @property
    def last(self) -> int:
        """The last node that reads it."""
        return max(n for n, _ in self.reads)

    def needs(self, grid: Grid) -> list[Needed]:
        """The range that a tile needs along each axis."""
        return [hull([axis.reads[read] for read in self.reads]) for axis in grid.axes]

    def room(self, grid: Grid) -> Room:
        """The room of its copy while tiles run."""
        return room_of(grid, self._use(grid), self.needs(grid))

    def parts(self, grid: Grid) -> list[tuple[Bits, Count]]:
        """The bits that a tile copies, and how many tiles copy as much."""
        use = self._use(grid)
        across = prod(x.size for i, x in enumerate(use.axes) if i not in grid.segment.axes)
        parts = [(use.precision * across, 1)]
        for axis, needs in zip(grid.axes, self.needs(grid), strict=True):
            first = np.maximum(needs.first, needs.done) if axis.retain else needs.first
            lengths, counts = np.unique(np.maximum(needs.end - first, 0), return_counts=True)
            pairs = list(zip(lengths.tolist(), counts.tolist(), strict=True))
            parts = [(bits * length, n * count) for bits, n in parts for length, count in pairs]
        return parts

    def _use(self, grid: Grid) -> TensorUse:
        n, place = self.reads[0]
        return grid.segment.nodes[n].reads[place].use


Rooms = dict[tuple[Grid, tuple[Staged, ...]], tuple[Bits, ...]]
"""What tensors and copies take at each node, by tiles and inputs that are copied."""


@final
@dataclass(frozen=True)
class FusedSteps:
    """A segment on an accelerator: what stays within it, and the memories that may hold it.

    ``inner`` are the nodes whose results no step outside reads, ``held`` the room of these, and
    ``tensors`` the numbers of those tensors that are within as a whole. ``homes`` are the memories
    that can hold what is within, ``residences`` those that can hold the constants of all layers.
    ``staged`` are the inputs that can be copied to each home first.
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

    def room(self, grid: Grid, staged: tuple[Staged, ...]) -> tuple[Bits, ...]:
        """[node] the bits of all tensors within, and of inputs copied first, while it runs."""
        if (grid, staged) not in self.rooms:
            found = [0] * len(self.segment.nodes)
            for held in self.held:
                rooms = [grid.rooms[n] for n in held.writers]
                room = Room(max(x.during for x in rooms), max(x.kept for x in rooms))
                _take(found, room, range(held.writers[0], held.last + 1))
            for one in staged:
                _take(found, one.room(grid), range(one.last + 1))
            self.rooms[grid, staged] = tuple(found)
        return self.rooms[grid, staged]


def _take(found: list[Bits], room: Room, used: range) -> None:
    for n in range(len(found)):
        found[n] += room.during if n in used else room.kept


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
    staged = tuple(_staged(graph, segment))
    into = {home: tuple(x for x in staged if _holds(segment, problems, x, home)) for home in homes}
    residences = tuple(_residences(used))
    return FusedSteps(segment, inner, held, whole, tuple(homes), residences, into, Grids(segment))


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


def _staged(graph: TensorGraph, segment: Segment) -> Iterator[Staged]:
    """The inputs from outside that all tile axes index in the same place as the last output."""
    found: dict[tuple[int | None, str], list[tuple[int, int]]] = {}
    for n, node in enumerate(segment.nodes):
        for place, read in enumerate(node.reads):
            if node.step.layer is None or read.writer is not None or read.use.constant:
                continue
            buffers = node.step.operands.get(read.use.operand)
            tensor = None if buffers is None else graph.tensor_of[buffers[0]]
            at = [
                [i for i, x in enumerate(read.use.axes) if d in x.dimensions]
                for d in node.dimensions
            ]
            if at == [[axis] for axis in segment.axes]:
                name = read.use.tensor or read.use.source or f"{node.nest.name} {read.use.operand}"
                found.setdefault((tensor, "" if tensor is not None else name), []).append(
                    (n, place)
                )
    for (tensor, _), reads in found.items():
        sizes = {tuple(x.size for x in segment.nodes[n].reads[p].use.axes) for n, p in reads}
        if len(sizes) == 1:
            yield Staged(tensor, tuple(reads))


def _holds(
    segment: Segment, problems: Mapping[str, MappingProblem], staged: Staged, home: str
) -> bool:
    """Whether a memory holds all operands that read an input."""
    for n, place in staged.reads:
        node = segment.nodes[n]
        levels = problems[node.nest.name].levels(node.reads[place].use.operand)
        if home not in [level.name for level in levels[:-1]]:
            return False
    return True


# --- plans ---


@final
@dataclass(frozen=True)
class Plan:
    """How a segment runs.

    ``home``: the memory of all tensors between its nodes. ``residence``: the memory in which the
    constants of its layers stay while all tiles run; ``None``: each tile fetches them. ``staged``:
    inputs that are copied from the outermost memory to the home, each part once along axes that
    retain; the others are read where they are, halos again.
    """

    steps: FusedSteps
    grid: Grid
    home: str
    residence: str | None
    staged: tuple[Staged, ...]

    @cached_property
    def taken(self) -> tuple[Counter[str], ...]:
        """[node] what the tensors within, inputs and constants take of each memory meanwhile."""
        found = [Counter({self.home: bits}) for bits in self.steps.room(self.grid, self.staged)]
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
        options = {SegmentInputs.OUTSIDE: (), SegmentInputs.COPIED: from_far}
        inputs = options if pin.inputs is None else (pin.inputs,)
        for staged in dict.fromkeys(options[x] for x in inputs):
            for grid in _grids(steps, pin, partial(_has_room, steps, staged, left[home])):
                if _has_room(steps, staged, left[home], grid) and is_covered(steps, grid):
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


def _has_room(steps: FusedSteps, staged: tuple[Staged, ...], left: Bits, grid: Grid) -> bool:
    return max(steps.room(grid, staged)) <= left


def is_covered(steps: FusedSteps, grid: Grid) -> bool:
    """Whether tiles compute all of the tensors that steps outside read, and some of each other."""
    nodes = range(len(steps.segment.nodes))
    is_whole = all(axis.covers(n) for n in nodes if n not in steps.inner for axis in grid.axes)
    return is_whole and all(grid.computed(n) > 0 for n in nodes)


def _is_far(staged: Staged, outside: Mapping[int, Home]) -> bool:
    return staged.tensor is None or outside[staged.tensor] is None
