"""Lower bounds of a network in every fused schedule: all segments, tile sizes, homes, orders."""

from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from math import prod
from typing import Final, final

from nestmap.costmodel.area_leakage import leakage_of
from nestmap.costmodel.vector_unit import evaluate_vector
from nestmap.model import (
    OUTPUT,
    Accelerator,
    Layer,
    LayerNode,
    MappingProblem,
    Objective,
    ObjectiveBound,
    VectorNode,
)
from nestmap.model.base import copy_with
from nestmap.model.dims import Dimension, LayerOperand
from nestmap.model.multicore.cn_layer import LayerNest
from nestmap.model.units import Bits, CyclesShare, PicoJoules
from nestmap.pipeline.stages.mapping.candidates import every_spatial_mapping
from nestmap.pipeline.stages.mapping.layers import vector_memory
from nestmap.search.fusion.bounds import TiledLayer, least_bits, rooms_of
from nestmap.search.fusion.plans import FusedSteps
from nestmap.search.fusion.segment import cut_dimensions, outside_name
from nestmap.search.fusion.tiles import axis_tiles
from nestmap.search.multicore.split.node_nests import layer_nest
from nestmap.search.spatial.all_mappings import SpatialCandidates
from nestmap.search.temporal.exact.space import reuses_windows
from nestmap.search.tensor_homes import TensorGraph, serving_levels, tensor_bits

Needed = dict[int, float]
"""The least share of its output that each step computes."""

Bounds = tuple[PicoJoules, CyclesShare]
"""Lower bounds of energy and latency."""


def needed_shares(graph: TensorGraph, segments: Iterable[FusedSteps]) -> Needed:
    """The least share of its output that each step computes in any segment.

    Tiles of one element that retain compute nothing that no later step reads.
    """
    found: Needed = dict.fromkeys(range(len(graph.steps)), 1.0)
    for steps in segments:
        segment = steps.segment
        tiles = [axis_tiles(segment, a, 1, retain=True) for a in range(len(segment.axes))]
        for n, node in enumerate(segment.nodes):
            sizes = (node.nest.output.axes[axis].size for axis in segment.axes)
            share = prod(x.computed[n] / size for x, size in zip(tiles, sizes, strict=True))
            step = segment.first + n
            found[step] = min(found[step], float(share))
    return found


MOST_ROWS: Final = 100_000
"""Spatial mappings of a layer of which all are bounded."""

Known = dict[Hashable, Bounds]
"""The bounds of layers, by all that they depend on."""


@final
@dataclass(frozen=True)
class NetworkBound:
    """Bounds what a network costs, whichever steps run together and in whatever tiles.

    Each layer takes at least what it does with all tensors between layers, and its constants, in
    the innermost memories that may be their homes; what comes from outside is fetched once.
    """

    graph: TensorGraph
    problems: Mapping[str, MappingProblem]
    accelerator: Accelerator
    needed: Needed
    known: Known = field(default_factory=Known)

    def of(self, objective: Objective, mapped: Collection[str], *, vector: bool) -> ObjectiveBound:
        """The bound of an objective, of the layers that have a mapping, and vector operators."""
        energy, latency = 0.0, 0.0
        for n, step in enumerate(self.graph.steps):
            more = 0.0, 0.0
            if step.layer is not None and step.layer.name in mapped:
                more = self.layer(n, step.layer)
            elif vector and isinstance(step.node, VectorNode):
                more = self._vector(n, step.node)
            energy, latency = energy + more[0], latency + more[1]
        energy += leakage_of(self.accelerator) * latency
        return ObjectiveBound(objective=objective, value=objective.value_of(energy, latency))

    def layer(self, n: int, layer: Layer) -> Bounds:
        """What a layer takes in all tiles of any fused schedule, copies included."""
        problem, node = self.problems[layer.name], self.graph.steps[n].node
        assert isinstance(node, LayerNode)
        nest, homes = layer_nest(node, 0), dict(self._homes(n, problem))
        axes = {x.operand: x.axes for x in (nest.output, *nest.inputs)}
        moved, held = frozenset(self._moved(n, layer)), frozenset(self._held(n, nest))
        facts = moved, held, self._cut[n], self.needed[n]
        key = problem.content, tuple(axes.items()), tuple(homes.items()), facts
        if key not in self.known:
            spatial = self._spatial_mappings(problem)
            tiled = TiledLayer(problem, axes, homes, *facts, spatial)
            self.known[key] = tiled.least_energy(), tiled.least_cycles()
        return self.known[key]

    def _spatial_mappings(self, problem: MappingProblem) -> SpatialCandidates | None:
        """All spatial mappings, if they are not too many and tiles load what they hold."""
        if reuses_windows(problem):
            return None
        found = every_spatial_mapping(problem)
        return found if len(found) <= MOST_ROWS else None

    def _homes(
        self, n: int, problem: MappingProblem
    ) -> Iterator[tuple[LayerOperand, tuple[str, ...]]]:
        """The memories on chip in which an operand may end, innermost first.

        These serve all readers of the tensor, or have one instance, for constants and for copies of
        inputs, which are beside tensors between layers or in the last memory that holds them. They
        have room for what all tiles read, which no tile axis cuts.
        """
        step, layer = self.graph.steps[n], problem.layer
        buffers = dict(step.operands)
        if not self._is_final(n):
            buffers[layer.output.name] = (step.written,)
        constants = {x.name for x in layer.inputs if x.constant}
        smallest = {d: 1 if d in self._cut[n] else size for d, size in layer.sizes.items()}
        for operand in layer.operands:
            name, least = operand.name, least_bits(layer, operand, smallest)
            on_chip = [x.name for x in problem.levels(name)[:-1]]
            ends = [x for x in on_chip if x in self._single and name != layer.output.name]
            if name not in constants:
                ends = [x for x in ends if x in self._single_of_outputs or x == ends[-1]]
            if name in buffers:
                tensor = self.graph.tensor_of[buffers[name][0]]
                ends += [x.name for x in serving_levels(self.graph, tensor, self.problems)]
            found = tuple(x for x in on_chip if x in ends and least <= self._rooms[x])
            if found:
                yield name, found

    def _held(self, n: int, nest: LayerNest) -> Iterator[LayerOperand]:
        """The operands of which memories hold whole tiles beside each other, no constants."""
        given = self.graph.steps[n].operands
        tensors: dict[LayerOperand, Hashable] = {
            use.operand: given.get(use.operand) or outside_name(nest, use)
            for use in nest.inputs
            if not use.constant
        }
        counts = Counter(tensors.values())
        yield from (name for name, tensor in tensors.items() if counts[tensor] == 1)
        yield nest.output.operand

    @cached_property
    def _cut(self) -> tuple[frozenset[Dimension], ...]:
        return cut_dimensions(self.graph)

    @cached_property
    def _rooms(self) -> dict[str, Bits]:
        return rooms_of(self.accelerator)

    @cached_property
    def _single(self) -> frozenset[str]:
        """The memories of one instance."""
        memories = self.accelerator.memories
        return frozenset(x.name for x in memories if self.accelerator.instances_of(x) == 1)

    @cached_property
    def _single_of_outputs(self) -> frozenset[str]:
        levels = self.accelerator.levels_of(OUTPUT)[:-1]
        return self._single & {level.name for level in levels}

    def _is_final(self, n: int) -> bool:
        """Whether no later step reads what a step writes."""
        return self.graph.buffers[self.graph.steps[n].written].last <= n

    def _moved(self, n: int, layer: Layer) -> Iterator[LayerOperand]:
        """The operands that come from the outermost memory in any case.

        Later reads of an input of the network may find it on chip: of all the largest counts.
        """
        for operand in layer.inputs:
            if operand.constant or (n, operand.name) in self._largest_reads:
                yield operand.name

    @cached_property
    def _largest_reads(self) -> frozenset[tuple[int, LayerOperand]]:
        """The step and the operand that read most of each input of the network."""
        found: dict[str, tuple[Bits, int, LayerOperand]] = {}
        for n, step in enumerate(self.graph.steps):
            if step.layer is None or not isinstance(step.node, LayerNode):
                continue
            nest = layer_nest(step.node, 0)
            for use in nest.inputs:
                if not use.constant and use.operand not in step.operands:
                    name = outside_name(nest, use)
                    read = tensor_bits(step.layer, use.operand), n, use.operand
                    found[name] = max(found.get(name, read), read, key=lambda x: x[0])
        return frozenset((n, operand) for _, n, operand in found.values())

    def _vector(self, n: int, node: VectorNode) -> Bounds:
        """What a vector operator takes in the memory where that is least.

        Windows may leave out elements of what they read, so that only inputs as large as the output
        count.
        """
        sizes = {x.sizes for x in node.outputs}
        if self.needed[n] < 1.0 or None in sizes:
            return 0.0, 0.0
        least = copy_with(node, {"inputs": tuple(x for x in node.inputs if x.sizes in sizes)})
        homes = sorted(self._single_of_outputs)
        memories = [vector_memory(self.accelerator, home) for home in (None, *homes)]
        found = [
            evaluate_vector(least, self.accelerator, home, (source,) * len(least.inputs))
            for home, source in product(memories[:1] if self._is_final(n) else memories, memories)
        ]
        energy = min(x.energy - x.static_energy for x in found)
        return energy, min(float(x.latency) for x in found)
