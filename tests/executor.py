"""An executor of tiny mappings, element by element: what exact counting claims to count.

For each link of each operand it goes through the steps of the loops above, and through all units. A
unit's tile are the iterations of the loops and units below that lie within their loops; outside of
them it idles. Beyond the tile a loop dimension goes to units first, then to time. The elements of a
tile are counted by listing them. It knows no formula of the cost model.

Units that need the same data share a transfer: those that differ in loops to which the operand is
irrelevant, or have the same position along an affine index. The largest of their tiles moves.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from math import ceil, prod
from typing import NamedTuple

from nestmap.model import OUTPUT, Movement, Relevance, SpatialProblem, TemporalMapping

Tile = tuple[frozenset[int], ...]
"""The positions along each index of an operand."""

Digits = tuple[int, ...]
"""A position for each of some factors of the loops."""


class Factor(NamedTuple):
    """A temporal loop, or an unrolling."""

    dimension: str
    size: int


class Words(NamedTuple):
    """Words that a port moves for all instances of a memory, and cycles of its busiest one."""

    narrow: int  # words of the least width
    busy: int


@dataclass(frozen=True)
class Link:
    """The way between a level of an operand (0: the array) and the memory above."""

    spatial: SpatialProblem
    temporal: TemporalMapping
    operand: str
    level: int

    @cached_property
    def cut(self) -> int:
        """The loops below: those of the level, and those during which its data stays."""
        array, order = self.spatial.accelerator.array, self.temporal.order
        cut = self.temporal.cuts_of(self.operand)[self.level - 1] if self.level > 0 else 0
        if self.level == 0 and (self.is_output or not array.holds_inputs):
            return cut
        while cut < len(order) and not self.is_relevant(order[cut].dimension):
            cut += 1
        return cut

    @property
    def is_output(self) -> bool:
        """Whether the operand is the output."""
        return self.operand == self.spatial.layer.output.name

    def is_relevant(self, dimension: str) -> bool:
        """Whether the operand's elements depend on a dimension."""
        relevance = self.spatial.layer.relevance(self.operand, dimension)
        return relevance is not Relevance.IRRELEVANT

    def unrolled(self, level: int) -> list[Factor]:
        """The unrollings directly above a level."""
        memories = self.spatial.problem.levels(self.operand)
        found = list[Factor]()
        for side in self.spatial.accelerator.array.sides:
            serving = [i for i, m in enumerate(memories) if side.name in m.served_dimensions]
            if min(serving, default=len(memories)) == level:
                loops = self.spatial.spatial_mapping.on(side.name)
                found += [Factor(loop.dimension, loop.size) for loop in loops]
        return found

    @cached_property
    def below(self) -> list[Factor]:
        """What makes the tile."""
        loops = [Factor(x.dimension, x.size) for x in self.temporal.order[: self.cut]]
        return loops + [x for level in range(self.level) for x in self.unrolled(level)]

    @cached_property
    def here(self) -> list[Factor]:
        """The units below one memory."""
        return self.unrolled(self.level)

    @cached_property
    def beyond(self) -> list[Factor]:
        """The memories."""
        top = len(self.spatial.problem.levels(self.operand))
        return [x for level in range(self.level + 1, top + 1) for x in self.unrolled(level)]

    @cached_property
    def time(self) -> list[Factor]:
        """The loops above."""
        return [Factor(x.dimension, x.size) for x in self.temporal.order[self.cut :]]

    def range_of(self, dimension: str, units: Digits, step: Digits) -> range:
        """The iterations of a dimension in the tile of a unit in a step."""
        size = prod(x.size for x in self.below if x.dimension == dimension)
        place, base = 0, 1
        for digits, factors in ((units, [*self.here, *self.beyond]), (step, self.time)):
            for digit, factor in zip(digits, factors, strict=True):
                if factor.dimension == dimension:
                    place += digit * base
                    base *= factor.size
        end = min((place + 1) * size, self.spatial.layer.sizes[dimension])
        return range(place * size, max(place * size, end))

    def tile(self, units: Digits, step: Digits) -> Tile | None:
        """The tile of a unit in a step; ``None`` if it idles."""
        ranges = {d: self.range_of(d, units, step) for d in self.spatial.layer.sizes}
        if not all(ranges.values()):
            return None
        return tuple(
            frozenset(
                sum(t.coefficient * n for t, n in zip(index.terms, places, strict=True))
                for places in product(*(ranges[d] for d in index.dimensions))
            )
            for index in self.spatial.layer.operand(self.operand).indices
        )

    def steps(self) -> Iterator[Digits]:
        """The steps of the loops above, in order."""
        for step in product(*(range(x.size) for x in reversed(self.time))):
            yield step[::-1]

    def group(self, units: Digits) -> Digits:
        """What the units of a memory have in common that share a transfer."""
        places = dict.fromkeys(self.spatial.layer.sizes, 0)
        bases = dict.fromkeys(self.spatial.layer.sizes, 1)
        for digit, factor in zip(units, self.here, strict=True):
            places[factor.dimension] += digit * bases[factor.dimension]
            bases[factor.dimension] *= factor.size
        return tuple(
            sum(step * places[d] for step, d in zip(index.steps, index.dimensions, strict=True))
            for index in self.spatial.layer.operand(self.operand).indices
        )

    def count(self, tile: Tile, before: Tile | None) -> int:
        """The elements of a tile that the one before does not hold, on axes of known length."""
        indices = self.spatial.layer.operand(self.operand).indices
        sizes = self.spatial.layer.sizes
        lengths = [i.axis_length(tuple(sizes[d] for d in i.dimensions)) for i in indices]
        every = prod(min(len(x), most) for x, most in zip(tile, lengths, strict=True))
        if before is None:
            return every
        return every - prod(len(x & y) for x, y in zip(tile, before, strict=True))

    def slides(self, was: Digits | None, step: Digits) -> bool:
        """Whether a memory with window reuse still has its tile after the last step."""
        memories = self.spatial.problem.levels(self.operand)
        if was is None or self.level == 0 or self.level == len(memories) or self.is_output:
            return False
        if not memories[self.level - 1].instance.window_reuse:
            return False
        moved = self.time[0].dimension
        run = 0
        while run < len(self.time) and self.time[run].dimension == moved:
            run += 1
        is_unrolled = any(x.dimension == moved and x.size > 1 for x in self.here + self.beyond)
        return was[run:] == step[run:] and not is_unrolled

    def periods(self, is_high: bool) -> Iterator[tuple[Digits, bool, int]]:
        """Of each period the instance, whether its sums come for the first time, and elements."""
        seen = set[tuple[Digits, Digits]]()
        was: Digits | None = None
        held = dict[Digits, Tile]()
        for step in self.steps():
            keeps = self.slides(was, step)
            was, tiles = step, dict[Digits, Tile]()
            moved = dict[Digits, dict[Digits, int]]()
            for beyond in product(*(range(x.size) for x in self.beyond)):
                for here in product(*(range(x.size) for x in self.here)):
                    units = (*here, *beyond)
                    tile = self.tile(units, step)
                    if tile is not None:
                        tiles[units] = tile
                        number = self.count(tile, held.get(units) if keeps else None)
                        instance = beyond if is_high else units
                        groups = moved.setdefault(instance, {})
                        group = self.group(here)
                        groups[group] = max(groups.get(group, 0), number)
            held = tiles
            for instance, groups in moved.items():
                key = (
                    instance,
                    tuple(
                        digit
                        for digit, factor in zip(step, self.time, strict=True)
                        if self.is_relevant(factor.dimension)
                    ),
                )
                yield instance, key not in seen, sum(groups.values())
                seen.add(key)

    @property
    def is_unfinished(self) -> bool:
        """Whether partial sums cross: a loop or an unrolling that adds up is above."""
        beyond = self.time + self.beyond
        return self.is_output and any(
            x.size > 1 and not self.is_relevant(x.dimension) for x in beyond
        )


def execute(
    spatial: SpatialProblem, temporal: TemporalMapping, operand: str, level: int, move: Movement
) -> Words:
    """Words of a movement at a memory level of an operand (0: the innermost memory)."""
    is_high = move in (Movement.RD_TO_LOW, Movement.WR_BY_LOW)
    link = Link(spatial, temporal, operand, level if is_high else level + 1)
    memory = spatial.problem.levels(operand)[level]
    memory_operand = spatial.problem.links[operand]
    port = memory.instance.ports[memory.port_index(memory_operand, move) or 0]
    found = spatial.layer.operand(operand)
    is_back = memory_operand == OUTPUT and move in (Movement.RD_TO_LOW, Movement.WR_BY_HIGH)
    bits = found.precision
    if link.is_unfinished:
        bits = spatial.layer.output.partial_precision
    if is_back and not link.is_unfinished:
        return Words(0, 0)
    narrow, busy = 0, 0
    for instance, is_first, elements in link.periods(is_high):
        if is_back and is_first and spatial.accelerator.free_first_sum:
            continue
        narrow += ceil(elements * bits / port.width_min)
        if not any(instance):
            busy += ceil(elements * bits / port.width_max)
    return Words(narrow, busy)
