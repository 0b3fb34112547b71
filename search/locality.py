"""Keeps data on chip between layers: the top memory of each operand of each layer.

A tensor with one producer and one consumer stays in the lowest memory with sufficient capacity;
tensors at branches go through the top memory. Weights stay in a memory that fits those of the
entire network. Source: ZigZag's and DeFiNES' inter-layer data locality (Mei et al., HPCA 2023).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import final

from nestmap.model import Layer, LayerTopLevels, MappingProblem, MemoryLevel, TopLevel, Workload
from nestmap.model.dims import LayerOperand, MemoryOperand
from nestmap.model.units import Bits


def keep_on_chip(
    workload: Workload, problems: Sequence[MappingProblem], *, data_from_top: bool
) -> tuple[LayerTopLevels, ...]:
    """The top levels of all operands of each layer.

    ``problems`` are the workload's layers on one accelerator. ``data_from_top``: the network's
    input and output go through the top memory; otherwise they start and end on chip if they fit.
    """
    network = _Network(workload.readers, tuple(problems))
    return tuple(
        LayerTopLevels(
            layer=problem.layer.name,
            top_levels=tuple(_top_levels(network, problem, data_from_top=data_from_top)),
        )
        for problem in problems
    )


@final
@dataclass(frozen=True)
class _Network:
    """The layers with their predecessors, successors and weights."""

    readers: dict[str, tuple[str, ...]]
    problems: tuple[MappingProblem, ...]

    @cached_property
    def writers(self) -> dict[str, tuple[str, ...]]:
        """The producers of each layer's inputs."""
        return {
            name: tuple(writer for writer, readers in self.readers.items() if name in readers)
            for name in self.readers
        }

    @cached_property
    def by_layer(self) -> dict[str, MappingProblem]:
        """The problems by the names of their layers."""
        return {problem.layer.name: problem for problem in self.problems}

    @cached_property
    def weight_operands(self) -> frozenset[MemoryOperand]:
        """The memory operands that carry weights."""
        return frozenset(p.links[x] for p in self.problems for x in _weights(p.layer))

    @cached_property
    def weight_bits(self) -> Bits:
        """The bits of the weights of all layers."""
        return sum(_bits(p.layer, x) for p in self.problems for x in _weights(p.layer))

    @cached_property
    def weight_level(self) -> MemoryLevel | None:
        """The lowest memory that fits all weights together with activations that may stay on chip.

        These are the activations of one layer: the smallest among layers whose output is not a
        branch. Activations that do not fit next to the weights use memories above.
        """
        unbranched = [p for p in self.problems if not self.branches(p.layer.name)]
        for level in self.problems[0].accelerator.memories:
            smallest = min(self._held(problem, level) for problem in unbranched or self.problems)
            if self.weight_operands <= set(level.operands) and self._has_room(level, smallest):
                return level
        return None

    def room_for_activations(self, layer: str) -> Iterator[MemoryLevel]:
        """The memories that fit a layer's output together with its input, the lowest first."""
        problem = self.by_layer[layer]
        needed = {problem.links[x] for x in self._activations(problem)}
        for level in problem.levels(problem.layer.output.name):
            if needed <= set(level.operands) and self._has_room(level, self._held(problem, level)):
                yield level

    def has_room_for_input(self, layer: str, level: MemoryLevel) -> bool:
        """Whether the memory fits a layer's only input, in the size that the layer reads."""
        problem = self.by_layer[layer]
        (name,) = _inputs(problem.layer)
        return problem.links[name] in level.operands and self._has_room(
            level, _bits(problem.layer, name)
        )

    def _activations(self, problem: MappingProblem) -> Iterator[LayerOperand]:
        """The output and the inputs, without a computed one that takes the way of weights.

        Several computed inputs come from the top memory in tiles; the room of one of them is more
        than enough for these.
        """
        yield problem.layer.output.name
        inputs = _inputs(problem.layer)
        for name in inputs:
            if len(inputs) == 1 or problem.links[name] not in self.weight_operands:
                yield name

    def _held(self, problem: MappingProblem, level: MemoryLevel) -> Bits:
        """The bits of these activations, as far as a memory can hold them."""
        names = self._activations(problem)
        return sum(_bits(problem.layer, x) for x in names if problem.links[x] in level.operands)

    def _has_room(self, level: MemoryLevel, activations: Bits) -> bool:
        """Whether activations fit, together with the weights if the memory serves them.

        A memory with several instances does not qualify: a tensor is not in one place there.
        """
        weights = self.weight_bits if self.weight_operands & set(level.operands) else 0
        everywhere = set(self.problems[0].accelerator.array.sizes) == set(level.served_dimensions)
        return everywhere and activations + weights <= level.instance.size

    def reader(self, layer: str) -> str | None:
        """The only consumer of the output, if it has no other input; ``None`` at branches."""
        readers = self.readers[layer]
        return readers[0] if len(readers) == 1 and self.writer(readers[0]) == layer else None

    def writer(self, layer: str) -> str | None:
        """The only producer of the layer's input; ``None`` if there are several."""
        writers = self.writers[layer]
        alone = len(writers) == 1 and len(_inputs(self.by_layer[layer].layer)) == 1
        return writers[0] if alone else None

    def branches(self, layer: str) -> bool:
        """Whether the output has several consumers, or a consumer with other inputs."""
        return not self.only_last(layer) and self.reader(layer) is None

    def only_first(self, layer: str) -> bool:
        """Whether this layer is the only one with external inputs, and has no other inputs."""
        firsts = [name for name, writers in self.writers.items() if not writers]
        return firsts == [layer] and len(_inputs(self.by_layer[layer].layer)) == 1

    def only_last(self, layer: str) -> bool:
        """Whether this layer is the only one whose output no layer reads."""
        return [name for name, readers in self.readers.items() if not readers] == [layer]


def _top_levels(
    network: _Network, problem: MappingProblem, *, data_from_top: bool
) -> Iterator[TopLevel]:
    """The top levels of a layer's operands, in order."""
    layer = problem.layer
    inputs, weights = _inputs(layer), _weights(layer)
    found = {
        layer.output.name: _output_level(network, layer.name, data_from_top=data_from_top),
        **{x: _input_level(network, layer.name, data_from_top=data_from_top) for x in inputs},
        **dict.fromkeys(weights, network.weight_level),
    }
    for operand in layer.operands:
        level = found[operand.name] or problem.levels(operand.name)[-1]
        yield TopLevel(operand=problem.links[operand.name], memory=level.name)


def _output_level(network: _Network, layer: str, *, data_from_top: bool) -> MemoryLevel | None:
    """The memory in which a layer's output stays; ``None``: the top memory."""
    room = network.room_for_activations(layer)
    if network.only_last(layer):
        return None if data_from_top else next(room, None)
    reader = network.reader(layer)
    if reader is None:
        return None
    return next((level for level in room if network.has_room_for_input(reader, level)), None)


def _input_level(network: _Network, layer: str, *, data_from_top: bool) -> MemoryLevel | None:
    """The memory of a layer's input: that of its producer's output, or of the first output."""
    writer = network.writer(layer)
    if writer is not None and network.reader(writer) == layer:
        return _output_level(network, writer, data_from_top=data_from_top)
    if network.only_first(layer) and not data_from_top:
        return _output_level(network, layer, data_from_top=data_from_top)
    return None


def _inputs(layer: Layer) -> tuple[LayerOperand, ...]:
    return tuple(operand.name for operand in layer.inputs if not operand.constant)


def _weights(layer: Layer) -> tuple[LayerOperand, ...]:
    return tuple(operand.name for operand in layer.inputs if operand.constant)


def _bits(layer: Layer, name: LayerOperand) -> Bits:
    """The bits of an operand's entire tensor; outputs count as partial sums."""
    operand = layer.operand(name)
    precision = layer.output.partial_precision if operand == layer.output else operand.precision
    return layer.elements(name) * precision
