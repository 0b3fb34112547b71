"""A brute-force loop-nest simulator that counts what tiny layers move between memories.

It runs the temporal loops cycle by cycle for every unit of the array and knows no formula of the
cost model. What a memory instance holds is found by looking which elements its units touch while
the loops at or below its level turn; a tile is fetched when it is not the one held already.

What it claims, for layers without partially relevant dimensions, unrollings that divide their
loops and served dimensions that only grow from a level to the next:

* inputs: elements read from a level for those below it (one read feeds all units that want
  the element at once) and written into every instance below;
* the output: elements that leave a level when its tile is replaced and at the end, summed up over
  the units that add to the same element; and elements fetched back because partial sums of them
  were written before. Fetched sums go to all instances that add to them. ``zeros`` has the
  fetches apart for which nothing was written before. The reference counts them too on every link
  that partial sums go up, be it only because several units make parts of one sum.

A memory with ``window_reuse`` keeps its last tile and loads only the elements that this does not
hold, while no other loops turn than those of :meth:`_Run.steady_loops`; else it forgets its tile.

Elements equal word accesses where every precision is that of the ports, which have one width.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise, product
from math import prod

import numpy as np
from numpy.typing import NDArray

from nestmap.model import Loop, Movement, SpatialProblem, TemporalMapping

Element = tuple[int, ...]
Tile = frozenset[Element]
Unit = tuple[int, ...]
"""A place in the array: one position per array dimension."""

Site = tuple[str, int]
"""An operand and one of its memory levels (0: innermost)."""


Count = tuple[Site, Movement]


def _no_counts() -> Counter[Count]:
    return Counter()


@dataclass
class Traffic:
    """Elements moved at each site, by movement.

    ``zeros``: fetches of sums that are still zero; ``unfinished``: the levels (with the output's
    name) to which some sum comes up from below in more than one part; ``handed_on``: inputs that
    instances below pass to the next that needs them too, and sums to the next that adds to them;
    ``hops``: these by the pair of instances, step by step.
    """

    moved: Counter[Count] = field(default_factory=_no_counts)
    zeros: Counter[Count] = field(default_factory=_no_counts)
    unfinished: set[Site] = field(default_factory=set[Site])
    handed_on: Counter[Site] = field(default_factory=Counter[Site])
    hops: dict[Site, dict[tuple[Unit, Unit], list[int]]] = field(
        default_factory=dict[Site, dict[tuple[Unit, Unit], list[int]]]
    )

    def as_reference(self, operand: str, level: int) -> tuple[int, ...]:
        """Elements by movement as the reference counts them."""
        upper_end = {Movement.RD_TO_LOW: level, Movement.WR_BY_HIGH: level + 1}
        counts: list[int] = []
        for movement in Movement:
            key = ((operand, level), movement)
            link = (operand, upper_end.get(movement, level))
            counts.append(self.moved[key] + (self.zeros[key] if link in self.unfinished else 0))
        return tuple(counts)

    def without_zeros(self, operand: str, level: int) -> tuple[int, ...]:
        """Elements by movement where sums begin without a read."""
        return tuple(self.moved[(operand, level), movement] for movement in Movement)


def simulate(spatial: SpatialProblem, temporal: TemporalMapping) -> Traffic:
    """Runs the mapping and counts."""
    traffic = Traffic()
    for operand in spatial.layer.operands:
        run = _Run(spatial, temporal, operand.name)
        if operand is spatial.layer.output:
            _count_output(run, traffic)
        else:
            _count_input(run, traffic)
    return traffic


def simulate_gating(
    spatial: SpatialProblem, temporal: TemporalMapping, operand: str, gating: Sequence[str]
) -> list[int]:
    """For each access of an operand at the array, the different operations that it serves.

    Operations are different if the elements of the operands in ``gating`` are. An input word
    serves all operations until the next word comes, a sum those of one cycle.
    """
    run = _Run(spatial, temporal, operand)
    others = [_Run(spatial, temporal, x) for x in gating if x != operand]
    is_output = operand == spatial.layer.output.name
    steady, before = run.steady_loops(0), next(run.digits_in_time(0))
    served, current = list[set[tuple[Element, ...]]](), dict[tuple[Unit, Element], int]()
    steps = zip(run.tiles_in_time(0), run.digits_in_time(0), strict=True)
    for cycle, (tiles, now) in enumerate(steps):
        moved = {n for n in range(len(now)) if now[n] != before[n]}
        before = now
        if is_output or not run.spatial.accelerator.array.holds_inputs or not moved <= steady:
            current = {}
        for unit, (element,) in tiles.items():
            place = run.instance(0, unit), element
            if place not in current:
                current[place] = len(served)
                served.append(set())
            served[current[place]].add(tuple(x.element(cycle, unit) for x in others))
    return [len(operations) for operations in served]


def simulate_steps(
    spatial: SpatialProblem, temporal: TemporalMapping, operands: Sequence[str]
) -> Iterator[list[int]]:
    """For each cycle, the different elements of each operand that all units use in it."""
    runs = [_Run(spatial, temporal, operand) for operand in operands]
    for cycle in range(temporal.cycles):
        yield [len(run.used_in(cycle)) for run in runs]


def _count_input(run: _Run, traffic: Traffic) -> None:
    for link in range(run.levels):
        held: dict[Unit, Tile] = {}
        steady = run.steady_loops(link)
        digits = run.digits_in_time(link)
        before = next(run.digits_in_time(link))
        for tiles, now in zip(run.tiles_in_time(link), digits, strict=True):
            moved = {n for n in range(len(now)) if now[n] != before[n]}
            if not moved <= steady:
                held = {}
            fetched = {unit: tile - held.get(unit, frozenset()) for unit, tile in tiles.items()}
            held, before = tiles, now
            _count_hops(run, traffic, link, fetched)
            _count_down(run, traffic.moved, link, fetched)


def _count_output(run: _Run, traffic: Traffic) -> None:
    for link in range(run.levels):
        held: dict[Unit, Tile] = {}
        above: set[Element] = set()
        for tiles in run.tiles_in_time(link):
            # Nothing holds a sum at the units: it leaves in the cycle in which it is made.
            fresh = {u: t for u, t in tiles.items() if link == 0 or held.get(u) != t}
            _count_up(run, traffic, link, {u: held[u] for u in fresh if u in held}, above)
            _count_hops(run, traffic, link, {u: held[u] for u in fresh if u in held})
            _count_down(run, traffic.moved, link, {u: t & above for u, t in fresh.items()})
            _count_down(run, traffic.zeros, link, {u: t - above for u, t in fresh.items()})
            held |= fresh
        _count_up(run, traffic, link, held, above)
        _count_hops(run, traffic, link, held)


def _count_down(run: _Run, counts: Counter[Count], link: int, tiles: dict[Unit, Tile]) -> None:
    crossing = run.crossing(link, tiles)
    counts[(run.operand, link), Movement.RD_TO_LOW] += len(crossing)
    if link > 0:
        written = sum(len(tile) for tile in tiles.values())
        counts[(run.operand, link - 1), Movement.WR_BY_HIGH] += written


def _count_hops(run: _Run, traffic: Traffic, link: int, tiles: dict[Unit, Tile]) -> None:
    """A word comes to one instance from above, or goes up from one, and to all others by hops."""
    held = sum(len(tile) for tile in tiles.values())
    traffic.handed_on[run.operand, link] += held - len(run.crossing(link, tiles))
    pairs = traffic.hops.setdefault((run.operand, link), {})
    for pair, words in run.chained(link, tiles).items():
        pairs.setdefault(pair, []).append(words)


def _count_up(
    run: _Run, traffic: Traffic, link: int, tiles: dict[Unit, Tile], above: set[Element]
) -> None:
    """Counts what leaves; ``above`` gathers the elements that have left."""
    for element in (crossing := run.crossing(link, tiles)):
        if element in above:
            traffic.unfinished.add((run.operand, link))
        above.add(element)
    traffic.moved[(run.operand, link), Movement.WR_BY_LOW] += len(crossing)
    if link > 0:
        read = sum(len(tile) for tile in tiles.values())
        traffic.moved[(run.operand, link - 1), Movement.RD_TO_HIGH] += read


@dataclass(frozen=True)
class _Run:
    """One operand of a mapping, played through.

    A ``link`` is the way between a memory level (its number) and what lies below it: the level
    below, or the units of the array for link 0.
    """

    spatial: SpatialProblem
    temporal: TemporalMapping
    operand: str
    _tiles: dict[int, list[dict[Unit, Tile]]] = field(
        default_factory=dict[int, list[dict[Unit, Tile]]], init=False
    )

    @cached_property
    def levels(self) -> int:
        return len(self.spatial.problem.levels(self.operand))

    @cached_property
    def _loops_of_side(self) -> list[tuple[Loop, ...]]:
        array = self.spatial.accelerator.array
        return [self.spatial.spatial_mapping.on(side.name) for side in array.sides]

    @cached_property
    def _units(self) -> list[Unit]:
        ranges = [range(prod(loop.size for loop in loops)) for loops in self._loops_of_side]
        return list(product(*ranges))

    def tiles_in_time(self, link: int) -> Sequence[dict[Unit, Tile]]:
        """What each instance below the link has to hold, one step of the outer loops at a time."""
        if link not in self._tiles:
            self._tiles[link] = list(self._steps(link))
        return self._tiles[link]

    def _steps(self, link: int) -> Iterator[dict[Unit, Tile]]:
        inner = self._loops_inside(link)
        cycles = prod(loop.size for loop in self.temporal.order[:inner])
        instances = [self.instance(link - 1, unit) for unit in self._units]
        for start in range(0, self.temporal.cycles, cycles):
            touched: dict[Unit, set[Element]] = {instance: set() for instance in instances}
            for elements in self._elements[start : start + cycles]:
                for instance, element in zip(instances, elements, strict=True):
                    touched[instance].add(element)
            yield {instance: frozenset(elements) for instance, elements in touched.items()}

    def digits_in_time(self, link: int) -> Iterator[tuple[int, ...]]:
        """The iteration of every loop, in the same steps; those inside a step stay at 0."""
        inner = self._loops_inside(link)
        sizes = [loop.size for loop in self.temporal.order]
        for step in product(*(range(size) for size in reversed(sizes[inner:]))):
            yield (*(0 for _ in range(inner)), *reversed(step))

    def reuses_windows(self, link: int) -> bool:
        """Whether the memory below the link keeps the part of its tile that it needs again."""
        levels = self.spatial.problem.levels(self.operand)
        return link > 0 and levels[link - 1].instance.window_reuse

    def steady_loops(self, link: int) -> set[int]:
        """The loops that turn while the memory remembers its tile.

        The innermost ones, which leave all tiles where they are, and with window reuse the next
        loop with all loops over the same dimension right above it.
        """
        order, inner = self.temporal.order, self._loops_inside(link)
        start, *_ = tiles = list(self.tiles_in_time(link))
        found, step, n = set(range(inner)), 1, inner
        while n < len(order) and (order[n].size == 1 or tiles[step] == start):
            found.add(n)
            step *= order[n].size
            n += 1
        first = n
        while (
            self.reuses_windows(link)
            and n < len(order)
            and order[n].dimension == order[first].dimension
        ):
            found.add(n)
            n += 1
        return found

    def _loops_inside(self, link: int) -> int:
        return self.temporal.cuts_of(self.operand)[link - 1] if link > 0 else 0

    def crossing(self, link: int, tiles: dict[Unit, Tile]) -> list[Element]:
        """Elements that cross the link, each once for every instance above it."""
        above: dict[Unit, set[Element]] = {}
        for instance, tile in tiles.items():
            above.setdefault(self.instance(link, instance), set()).update(tile)
        return [element for elements in above.values() for element in elements]

    def chained(self, link: int, tiles: dict[Unit, Tile]) -> Counter[tuple[Unit, Unit]]:
        """Elements that go from one instance to the next with the same one and memory above."""
        users: dict[tuple[Unit, Element], list[Unit]] = {}
        for instance in sorted(tiles):
            for element in tiles[instance]:
                users.setdefault((self.instance(link, instance), element), []).append(instance)
        return Counter(pair for chain in users.values() for pair in pairwise(chain))

    def used_in(self, cycle: int) -> set[Element]:
        """The elements that the units work on in a cycle."""
        return set(self._elements[cycle])

    def instance(self, level: int, unit: Unit) -> Unit:
        """The instance of a level that serves the unit; below level 0 that is the unit itself."""
        if level < 0:
            return unit
        served = self.spatial.problem.levels(self.operand)[level].served_dimensions
        names = self.spatial.accelerator.array.sizes
        return tuple(
            0 if name in served else place for name, place in zip(names, unit, strict=True)
        )

    def element(self, cycle: int, unit: Unit) -> Element:
        """The element of the operand that the unit works on in a cycle."""
        return self._elements[cycle][self._units.index(unit)]

    @cached_property
    def _elements(self) -> list[list[Element]]:
        """For each cycle, the elements of all units."""
        zeros = np.zeros((self.temporal.cycles, len(self._units)), np.int64)
        values = dict.fromkeys(self.spatial.layer.sizes, zeros)
        steps = dict.fromkeys(self.spatial.layer.sizes, 1)

        def turn(loops: tuple[Loop, ...], count: NDArray[np.int64]) -> None:
            for loop in loops:
                added = steps[loop.dimension] * (count % loop.size)
                values[loop.dimension] = values[loop.dimension] + added
                steps[loop.dimension] *= loop.size
                count = count // loop.size

        for side, loops in enumerate(self._loops_of_side):
            turn(loops, np.array([[unit[side] for unit in self._units]]))
        turn(self.temporal.order, np.arange(self.temporal.cycles)[:, None])
        indices = [
            sum((term.coefficient * values[term.dimension] for term in index.terms), zeros)
            for index in self.spatial.layer.operand(self.operand).indices
        ]
        columns = np.array(indices, np.int64).reshape(-1, *zeros.shape)
        return [[tuple(x) for x in of_cycle] for of_cycle in np.moveaxis(columns, 0, -1).tolist()]
