"""A lower bound of the energy of a layer in every fused schedule: all tile sizes, homes and orders.

Source: docs/fused-mapping.md#bound
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from math import ceil, gcd, prod
from typing import Final, NamedTuple, final

import numpy as np

from nestmap.costmodel.flat_problem import FlatProblem
from nestmap.costmodel.flatten import flatten_problem
from nestmap.costmodel.footprint import distinct_values
from nestmap.costmodel.kernel.record import OUT
from nestmap.costmodel.mac_energy import plain_computation_energy
from nestmap.costmodel.reuse import IRRELEVANT
from nestmap.costmodel.skipping import executed_share
from nestmap.costmodel.transfers import is_backward
from nestmap.model import MappingProblem, MemoryLevel, Movement
from nestmap.model.arrays import Floats
from nestmap.model.dims import Dimension, LayerOperand, MemoryOperand
from nestmap.model.multicore.cn_layer import LayerNest, TensorAxis
from nestmap.search.fusion.cells import Relaxed, energy_once, least_in_tiles
from nestmap.search.spatial.all_mappings import SpatialCandidates

RATIO: Final = 2.0
"""The ratio of the ends of cells."""


@final
@dataclass(frozen=True)
class TiledLayer:
    """A layer that may run in tiles, under any of some spatial mappings.

    ``ends`` has the innermost memory in which each operand may end; those that are not in it come
    from the outermost one and go there. Operands that are ``moved`` come from there in any case.
    ``needed`` is the share of the output that any schedule computes.
    """

    candidates: SpatialCandidates
    nest: LayerNest
    ends: Mapping[LayerOperand, str]
    moved: frozenset[LayerOperand]
    needed: float = 1.0

    def least_energy(self) -> float:
        """No tiles of the layer take less energy together (pJ)."""
        if self.needed == 0.0:
            return 0.0
        return min(self._energy(row) for row in range(len(self.candidates)))

    def least_cycles(self) -> float:
        """No tiles of the layer take fewer cycles together: to compute, or to fetch an operand."""
        flat, sizes = self._flat(0)
        computing = float(flat.ideal_cycles)
        if len(self.candidates) == 1 and self.needed == 1.0:
            steps = float(sizes.prod()) * executed_share(flat)
            computing = steps * max(flat.cycles_per_operation, _adding(flat, sizes))
        return self.needed * max(computing, _fetch_cycles(self._problem, self.moved))

    def _energy(self, row: int) -> float:
        flat, sizes = self._flat(row)
        once, clipped = self._once(flat, sizes), self._clipped
        found = least_in_tiles(flat, sizes, self._relaxed(1.0), RATIO)
        if clipped.mean < 1.0:
            low = least_in_tiles(flat, sizes, self._relaxed(clipped.least), RATIO)
            share = (clipped.mean - clipped.least) / (1.0 - clipped.least)
            found = low + max(0.0, share) * (found - low)
        return self.needed * (found + once) + self._computation(row)

    def _flat(self, row: int) -> tuple[FlatProblem, Floats]:
        """The record with energy of memories alone, and the temporal iterations."""
        flat = self.candidates.flat(row)
        flat.views, flat.computation, flat.leakage = 1, 0.0, 0.0
        flat.held[:] = 0
        return flat, self._sizes(row)

    def _sizes(self, row: int) -> Floats:
        return self.candidates.temporal_sizes(row).astype(np.float64)

    def _computation(self, row: int) -> float:
        """The energy of the array; of what is needed, without units that idle."""
        whole = float(self.candidates.flat(row).computation)
        if self.needed == 1.0:
            return whole
        mapping = self.candidates.mapping(row).unrollings
        unrolled = prod(x.size for unrolling in mapping for x in unrolling.loops)
        busy = self._problem.layer.macs / (unrolled * prod(self._sizes(row).tolist()))
        return whole * self.needed * float(busy)

    @property
    def _problem(self) -> MappingProblem:
        return self.candidates.problem

    @cached_property
    def _names(self) -> tuple[LayerOperand, ...]:
        layer = self._problem.layer
        return (layer.output.name, *(x.name for x in layer.inputs))

    def _end(self, name: LayerOperand) -> int:
        """The level in which an operand ends."""
        levels = [level.name for level in self._problem.levels(name)]
        return levels.index(self.ends[name]) + 1 if name in self.ends else len(levels)

    def _once(self, flat: FlatProblem, sizes: Floats) -> float:
        """What it takes that each element comes from the outermost memory once."""
        whole = prod(x.whole for x in self._axes)
        return whole * sum(
            energy_once(flat, sizes, x, link)
            for x, name in enumerate(self._names)
            if name in self.moved
            for link in range(self._end(name), len(self._problem.levels(name)))
        )

    def _relaxed(self, scale: float) -> Relaxed:
        padded = {x.operand for x in self._axes if x.padding > 0}
        return Relaxed(
            np.array([self._end(name) for name in self._names]),
            np.array([scale if name in padded else 1.0 for name in self._names]),
            np.array([float(x.padding) for x in self._axes] or [0.0]),
        )

    # --- padding ---

    @cached_property
    def _axes(self) -> tuple[_ClippedAxis, ...]:
        return tuple(_axes(self._problem, self.nest))

    @cached_property
    def _clipped(self) -> _Clipped:
        least, mean = 1.0, 1.0
        for axis in self._axes:
            found = axis.clipped(self.needed)
            least, mean = least * found.least, mean * found.mean
        return _Clipped(least, mean)


def rough_bounds(
    problem: MappingProblem, moved: frozenset[LayerOperand], needed: float
) -> tuple[float, float]:
    """Bounds of energy and cycles under any spatial mapping: to compute, and to fetch operands."""
    digital = problem.accelerator.array.imc is None
    energy = plain_computation_energy(problem) if digital else 0.0
    for name in moved:
        *_, below, top = (*problem.levels(name)[:1], *problem.levels(name))
        bits = _fetched_bits(problem, name)
        operand = problem.links[name]
        energy += bits / _width(top, operand, Movement.RD_TO_LOW) * top.instance.read_energy
        if below is not top:
            width = _width(below, operand, Movement.WR_BY_HIGH)
            energy += bits / width * below.instance.write_energy
    cycles = float(flatten_problem(problem).ideal_cycles)
    return needed * energy, needed * max(cycles, _fetch_cycles(problem, moved))


def _fetch_cycles(problem: MappingProblem, moved: frozenset[LayerOperand]) -> float:
    """The cycles in which the outermost memory is busy with all of an operand, at least."""
    found = [0.0]
    for name in moved:
        width = _width(problem.levels(name)[-1], problem.links[name], Movement.RD_TO_LOW)
        found.append(_fetched_bits(problem, name) / width)
    return max(found)


def _fetched_bits(problem: MappingProblem, name: LayerOperand) -> float:
    """The bits of an operand as it is stored; the outermost memory may compress it."""
    flat, names = flatten_problem(problem), [x.name for x in problem.layer.operands]
    x = names.index(name)
    levels = int(flat.levels[x])
    each = float(flat.element_bits[x, max(1, levels - 1) : levels + 1].min())
    return problem.layer.elements(name) * each


def _width(level: MemoryLevel, operand: MemoryOperand, movement: Movement) -> int:
    port = level.port_index(operand, movement)
    assert port is not None, "the accelerator's constructor demands these ports"
    return level.instance.ports[port].width_max


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
    """An axis of an input that two loops index; tiles cut the first, if any.

    The first tile reads less by ``before`` elements, the last one by ``after``.
    """

    operand: LayerOperand
    sizes: tuple[int, int]
    steps: tuple[int, int]
    is_cut: bool
    before: int
    after: int
    length: int

    @property
    def padding(self) -> int:
        """What a tile reads less than its loops touch, at most."""
        return max(self.before + self.after, int(self._touched(self.sizes[0])) - self.length)

    @property
    def whole(self) -> float:
        """The share of what all loops touch that is no padding."""
        touched = self._touched(self.sizes[0])
        return min(1.0, (self._reach(self.sizes[0]) - self.before - self.after) / touched)

    def clipped(self, needed: float) -> _Clipped:
        """The shares of tiles of any size, where so much of the layer is needed."""
        size = self.sizes[0]
        least = min(self.whole, self.length / self._touched(size))
        if not self.is_cut or self.padding == 0:
            return _Clipped(min(1.0, least), min(1.0, least))
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


def _axes(problem: MappingProblem, nest: LayerNest) -> Iterator[_ClippedAxis]:
    """The axes that two loops index, in the order in which the cost model numbers them."""
    layer, cut = problem.layer, {d for x in problem.layer.output.indices for d in x.dimensions}
    for operand in layer.operands:
        for index in operand.indices:
            if len(index.terms) == 1:
                continue
            first, second = sorted(index.terms, key=lambda x: x.dimension not in cut)
            axis = _tensor_axis(nest, operand.name, index.dimensions)
            reach = sum(x.coefficient * (layer.sizes[x.dimension] - 1) for x in index.terms) + 1
            before = max(0, -axis.offset)
            yield _ClippedAxis(
                operand=operand.name,
                sizes=(layer.sizes[first.dimension], layer.sizes[second.dimension]),
                steps=(first.coefficient, second.coefficient),
                is_cut=first.dimension in cut,
                before=before,
                after=max(0, reach - before - axis.size),
                length=index.axis_length(tuple(layer.sizes[d] for d in index.dimensions)),
            )


def _tensor_axis(
    nest: LayerNest, operand: LayerOperand, dimensions: tuple[Dimension, ...]
) -> TensorAxis:
    use = next(x for x in (nest.output, *nest.inputs) if x.operand == operand)
    return next(x for x in use.axes if set(x.dimensions) == set(dimensions))
