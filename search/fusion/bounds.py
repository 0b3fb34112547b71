"""A lower bound of the energy of a layer in every fused schedule: all tile sizes, homes and orders.

Source: docs/fused-mapping.md#bound
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, combinations
from math import ceil, floor, gcd, inf, prod
from typing import Final, NamedTuple, final

import numpy as np

from nestmap.costmodel.copies import Copy, copy_inward
from nestmap.costmodel.flat_problem import FlatProblem
from nestmap.costmodel.flatten import flatten_problem
from nestmap.costmodel.footprint import distinct_values
from nestmap.costmodel.kernel.record import OUT, copy_record
from nestmap.costmodel.mac_energy import plain_computation_energy
from nestmap.costmodel.reuse import IRRELEVANT
from nestmap.costmodel.skipping import executed_share
from nestmap.costmodel.spatial import temporal_sizes
from nestmap.costmodel.transfers import is_backward
from nestmap.model import Accelerator, InputOperand, Layer, MappingProblem, OutputOperand
from nestmap.model.arrays import Floats
from nestmap.model.dims import Dimension, LayerOperand
from nestmap.model.multicore.cn_layer import TensorAxis
from nestmap.model.units import Bits
from nestmap.search.fusion.cells import Relaxed, least_in_tiles, least_of_rows
from nestmap.search.spatial.all_mappings import SpatialCandidates

Sizes = Mapping[Dimension, int]
"""Iterations along each dimension."""

RATIO: Final = 2.0
"""The ratio of the ends of cells."""

MOST_SPATIAL: Final = 16
"""Spatial mappings of a layer of which each has a bound with all operands together."""


@final
@dataclass(frozen=True)
class TiledLayer:
    """A layer that may run in tiles.

    ``axes`` are those of the tensor of each operand. ``homes`` are the memories on chip in which an
    operand may end, innermost first: any other comes from the outermost one and goes there, and
    what is ``moved`` comes from there in any case. What is ``held`` of an operand is the whole of a
    tile. ``cut`` are the dimensions that tiles may cut, and ``needed`` is the share of the output
    that any schedule computes. Without ``spatial`` mappings any is possible: only computing, and
    fetching what is moved, count then. Of many each operand is bounded on its own.
    """

    problem: MappingProblem
    axes: Mapping[LayerOperand, tuple[TensorAxis, ...]]
    homes: Mapping[LayerOperand, tuple[str, ...]]
    moved: frozenset[LayerOperand]
    held: frozenset[LayerOperand]
    cut: frozenset[Dimension]
    needed: float
    spatial: SpatialCandidates | None

    def least_energy(self) -> float:
        """No tiles of the layer take less energy together (pJ).

        Either a tile fits its homes, or some operand ends in the outermost memory.
        """
        least, any_size = inf, list[set[LayerOperand]]()
        held = sorted(self.held & self.homes.keys())
        every = (combinations(held, n) for n in range(len(held) + 1))
        for far in map(set, chain.from_iterable(every)):
            if any(far > x for x in any_size):  # no larger tiles, and more to move
                continue
            homes = {x: memories for x, memories in self.homes.items() if x not in far}
            tiled = replace(self, homes=homes)
            box = tiled._largest_box()
            if box is not None:
                least = min(least, tiled._energy_within(box))
                if box == self.problem.layer.sizes:
                    any_size.append(far)
        return least

    def _energy_within(self, box: Sizes) -> float:
        """No tiles of at most these sizes take less energy together (pJ)."""
        fetched = sum(self._fetched(name).energy for name in self.moved)
        if self.needed == 0.0:
            return fetched
        digital = self.problem.accelerator.array.imc is None
        computing = plain_computation_energy(self.problem) * digital
        if self.spatial is None:
            return fetched + self.needed * computing
        if len(self.spatial) > MOST_SPATIAL:
            flat = copy_record(flatten_problem(self.problem))
            times, relaxed = _shrink(flat, box), self._relaxed(self._clipped.mean)
            moving = times * float(least_of_rows(flat, self.spatial.table, relaxed, RATIO).min())
            return fetched + self.needed * (moving + computing)
        rows = range(len(self.spatial))
        return fetched + min(self._energy(self.spatial, row, box) for row in rows)

    # --- the room of homes ---

    def _largest_box(self) -> Sizes | None:
        """The most that tiles may have along each dimension; ``None``: none fits its homes."""
        sizes = self.problem.layer.sizes
        least = {d: 1 if d in self.cut else n for d, n in sizes.items()}
        if not self._has_room(least):
            return None
        return {d: self._most(least, d, n) if d in self.cut else n for d, n in sizes.items()}

    def _most(self, least: Sizes, d: Dimension, size: int) -> int:
        """The most iterations of a dimension in the smallest tile along all others."""
        every = range(1, size + 1)
        return bisect_left(every, True, key=lambda n: not self._has_room({**least, d: n}))

    def _has_room(self, box: Sizes) -> bool:
        """Whether memories have room for what tiles of these sizes hold at least."""
        taken = Counter[tuple[str, ...]]()
        for operand in self.problem.layer.operands:
            if operand.name in self.held & self.homes.keys():
                taken[self.homes[operand.name]] += least_bits(self.problem.layer, operand, box)
        rooms = rooms_of(self.problem.accelerator)
        return all(bits <= sum(rooms[x] for x in homes) for homes, bits in taken.items())

    def least_cycles(self) -> float:
        """No tiles of the layer take fewer cycles together: to compute, or to fetch an operand."""
        computing = float(flatten_problem(self.problem).ideal_cycles)
        if self.spatial is not None and len(self.spatial) == 1 and self.needed == 1.0:
            flat, sizes = self.spatial.flat(0), _sizes(self.spatial, 0)
            steps = float(sizes.prod()) * executed_share(flat)
            computing = steps * max(flat.cycles_per_operation, _adding(flat, sizes))
        fetching = (float(self._fetched(name).cycles) for name in self.moved)
        return max(self.needed * computing, *fetching, 0.0)

    # --- the energy of a spatial mapping ---

    def _energy(self, spatial: SpatialCandidates, row: int, box: Sizes) -> float:
        """What the array takes, and all links below the ends of operands."""
        flat, sizes = spatial.flat(row), _sizes(spatial, row)
        computing = float(flat.computation)
        if self.needed < 1.0:  # units that idle in the last step may be needed in none
            unrolled = prod(x.size for u in spatial.mapping(row).unrollings for x in u.loops)
            computing *= self.problem.layer.macs / (unrolled * float(sizes.prod()))
        flat.views, flat.computation, flat.leakage = 1, 0.0, 0.0
        flat.held[:] = 0
        times, clipped = _shrink(flat, box), self._clipped
        temporal_sizes(flat, spatial.table.row(row), sizes)
        found = least_in_tiles(flat, sizes, self._relaxed(1.0), RATIO)
        if clipped.mean < 1.0:
            low = least_in_tiles(flat, sizes, self._relaxed(clipped.least), RATIO)
            share = (clipped.mean - clipped.least) / (1.0 - clipped.least)
            found = low + share * (found - low)
        return self.needed * (times * found + computing)

    def _end(self, name: LayerOperand) -> int:
        """The level in which an operand ends, counted from 1."""
        levels = [level.name for level in self.problem.levels(name)]
        return levels.index(self.homes[name][0]) + 1 if name in self.homes else len(levels)

    def _fetched(self, name: LayerOperand) -> Copy:
        """What it takes to bring all that is needed of an operand to its end once."""
        layer, levels, end = self.problem.layer, self.problem.levels(name), self._end(name)
        if self.spatial is None:
            end = max(1, len(levels) - 1)
        x = [operand.name for operand in layer.operands].index(name)
        each = flatten_problem(self.problem).element_bits[x, end : len(levels) + 1].min()
        share = prod(axis.read / axis.held for axis in self._axes if axis.operand == name)
        bits = layer.elements(name) * float(each) * share * self.needed
        return copy_inward(levels[end - 1 :], self.problem.links[name], floor(bits))

    def _relaxed(self, scale: float) -> Relaxed:
        padded = {x.operand for x in self._axes if x.padding > 0}
        names = [x.name for x in self.problem.layer.operands]
        return Relaxed(
            np.array([self._end(name) for name in names]),
            np.array([scale if name in padded else 1.0 for name in names]),
            np.array([float(x.padding) for x in self._axes] or [0.0]),
            np.array([d in self.cut for d in self.problem.layer.sizes]),
        )

    # --- padding ---

    @cached_property
    def _axes(self) -> tuple[_ClippedAxis, ...]:
        return tuple(_clipped_axes(self.problem.layer, self.axes, self.cut))

    @cached_property
    def _clipped(self) -> _Clipped:
        least, mean = 1.0, 1.0
        for axis in self._axes:
            found = axis.clipped(self.needed)
            least, mean = least * found.least, mean * found.mean
        return _Clipped(least, mean)


def rooms_of(accelerator: Accelerator) -> dict[str, Bits]:
    """The bits of each memory, all instances together."""
    memories = accelerator.memories
    return {x.name: x.instance.size * accelerator.instances_of(x) for x in memories}


def least_bits(layer: Layer, operand: InputOperand | OutputOperand, box: Sizes) -> Bits:
    """The bits of an operand in a tile of these sizes, without what padding or zeros may save."""
    elements = 1
    for index in operand.indices:
        sizes, whole = ([x[d] for d in index.dimensions] for x in (box, layer.sizes))
        touched = index.touched(tuple(sizes), tuple(whole))
        elements *= touched if sizes == whole else max(1, touched - sum(index.padding))
    return floor(elements * operand.density * operand.precision)


def _shrink(flat: FlatProblem, box: Sizes) -> float:
    """Makes a layer as small as a tile, in place; returns how many there are of such a size."""
    sizes, whole = list(box.values()), flat.loop_size[: len(box)].copy()
    flat.loop_size[: len(box)] = sizes
    return float(whole.prod()) / prod(sizes)


def _sizes(spatial: SpatialCandidates, row: int) -> Floats:
    """[d] the temporal iterations of a row."""
    return spatial.temporal_sizes(row).astype(np.float64)


def _adding(flat: FlatProblem, sizes: Floats) -> float:
    """The cycles in which the busiest port reads and writes a sum in each step, at least."""
    is_summed = flat.relevance[OUT, : len(sizes)] == IRRELEVANT
    later = 1.0 - flat.free_first_sum / float(sizes[is_summed].prod())
    cycles = [0.0] * flat.ports
    for t in flat.link_transfer[OUT, 0, : flat.link_transfers[OUT, 0]].tolist():
        port, level = int(flat.transfer_port[t]), int(flat.transfer_level[t])
        each = float(min(flat.partial_bits[OUT, level], flat.element_bits[OUT, level]))
        words = float(ceil(each / float(flat.port_max[port])))
        if is_backward(flat, t):
            words *= later if sizes[is_summed].prod() > 1 else 0.0
        cycles[port] += words
    return max(cycles, default=0.0)


class _Clipped(NamedTuple):
    """The share of what tiles read that no padding replaces: the least of a tile, and the mean."""

    least: float
    mean: float


@final
@dataclass(frozen=True)
class _ClippedAxis:
    """An axis of an input that two loops index, of which tiles cut none, the first, or both.

    The first tile reads less by ``before`` elements, the last one by ``after``.
    """

    operand: LayerOperand
    sizes: tuple[int, int]
    steps: tuple[int, int]
    is_cut: tuple[bool, bool]
    before: int
    after: int
    length: int

    @property
    def padding(self) -> int:
        """What a tile reads less than its loops touch, at most."""
        return max(self.before + self.after, int(self._touched(self.sizes[0])) - self.length)

    @property
    def held(self) -> float:
        """The elements that a memory holds of those that all loops touch."""
        return min(self._touched(self.sizes[0]), float(self.length))

    @property
    def read(self) -> float:
        """The elements that all loops read."""
        return min(self.held, float(self._reach(self.sizes[0]) - self.before - self.after))

    def clipped(self, needed: float) -> _Clipped:
        """The shares of tiles of any size, where so much of the layer is needed."""
        size = self.sizes[0]
        least = self.read / self._touched(size)
        if self.is_cut == (False, False) or self.padding == 0:
            return _Clipped(least, least)
        if all(self.is_cut):
            return _Clipped(0.0, 0.0)
        shares = [
            [min(1.0, (self._reach(n) - side) / self._touched(n)) for n in range(1, size + 1)]
            for side in (self.before, self.after)
        ]
        lost = sum(max(n * (1 - x) for n, x in enumerate(side, 1)) for side in shares)
        lost = max(lost, size * (1 - least))
        least = max(0.0, min(least, *(min(side) for side in shares)))
        return _Clipped(least, max(least, 1 - lost / (size * needed)))

    def _reach(self, size: int) -> int:
        """From the first to the last element that so many iterations touch."""
        return self.steps[0] * (size - 1) + self.steps[1] * (self.sizes[1] - 1) + 1

    def _touched(self, size: int) -> float:
        common = gcd(*self.steps)
        first, second = (step // common for step in self.steps)
        return distinct_values(float(size), float(self.sizes[1]), first, second, 0.0)


def _clipped_axes(
    layer: Layer, axes: Mapping[LayerOperand, tuple[TensorAxis, ...]], cut: frozenset[Dimension]
) -> Iterator[_ClippedAxis]:
    """The axes that two loops index, in the order in which the cost model numbers them."""
    for operand in layer.operands:
        for index in operand.indices:
            if len(index.terms) == 1:
                continue
            first, second = sorted(index.terms, key=lambda x: x.dimension not in cut)
            found = (x for x in axes[operand.name] if set(x.dimensions) == set(index.dimensions))
            axis = next(found)
            reach = sum(x.coefficient * (layer.sizes[x.dimension] - 1) for x in index.terms) + 1
            before = max(0, -axis.offset)
            yield _ClippedAxis(
                operand=operand.name,
                sizes=(layer.sizes[first.dimension], layer.sizes[second.dimension]),
                steps=(first.coefficient, second.coefficient),
                is_cut=(first.dimension in cut, second.dimension in cut),
                before=before,
                after=max(0, reach - before - axis.size),
                length=index.axis_length(tuple(layer.sizes[d] for d in index.dimensions)),
            )
