"""Summarizes a workload: groups of identical layers, vector operators by type."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import final

from nestmap.model import Layer, VectorNode, Workload
from nestmap.model.dims import LayerOperand


@final
@dataclass(frozen=True, slots=True)
class LayerGroup:
    """Layers with the same content: the first one, and the names of all."""

    layer: Layer
    names: tuple[str, ...]

    @property
    def times(self) -> int:
        """The number of layers."""
        return len(self.names)

    @property
    def macs(self) -> int:
        """The multiply-accumulates of all layers of the group."""
        return self.times * self.layer.macs

    @property
    def weight_bits(self) -> int:
        """Bits of the constant operands of all layers of the group."""
        return self.times * weight_bits(self.layer)

    @property
    def operand_bits(self) -> int:
        """Bits of all operands of all layers of the group."""
        return self.times * (weight_bits(self.layer) + activation_bits(self.layer))


@final
@dataclass(frozen=True, slots=True)
class VectorSummary:
    """The vector operators of one type: count, scalar operations, traffic."""

    operator: str
    nodes: int
    operations: int
    bits_read: int
    bits_written: int


def weight_bits(layer: Layer) -> int:
    """Bits of the constant operands."""
    weights = [operand.name for operand in layer.inputs if operand.constant]
    return sum(operand_bits(layer, name) for name in weights)


def activation_bits(layer: Layer) -> int:
    """Bits of all other operands; the output has its final precision."""
    inputs = [operand.name for operand in layer.inputs if not operand.constant]
    return sum(operand_bits(layer, name) for name in (*inputs, layer.output.name))


def operand_bits(layer: Layer, operand: LayerOperand) -> int:
    """Bits of all elements of an operand that the layer accesses."""
    return layer.elements(operand) * layer.operand(operand).precision


def intensity(macs: int, bits: int) -> float | None:
    """Multiply-accumulates per byte if each operand moves once; ``None`` if nothing moves."""
    return macs / (bits / 8) if bits else None


def layer_groups(layers: Iterable[Layer]) -> tuple[LayerGroup, ...]:
    """Layers grouped by content, each group with all their names."""
    groups: dict[Layer, list[Layer]] = {}
    for layer in layers:
        groups.setdefault(layer.anonymous, []).append(layer)
    return tuple(LayerGroup(same[0], tuple(x.name for x in same)) for same in groups.values())


def single_layers(layers: Iterable[Layer]) -> tuple[LayerGroup, ...]:
    """A group for each single layer."""
    return tuple(LayerGroup(layer, (layer.name,)) for layer in layers)


def vector_summaries(workload: Workload) -> tuple[VectorSummary, ...]:
    """The vector operators by type, in alphabetical order."""
    by_type: dict[str, list[VectorNode]] = {}
    for node in workload.vector_nodes:
        by_type.setdefault(node.operator, []).append(node)
    return tuple(_summary(operator, by_type[operator]) for operator in sorted(by_type))


def _summary(operator: str, nodes: Sequence[VectorNode]) -> VectorSummary:
    return VectorSummary(
        operator=operator,
        nodes=len(nodes),
        operations=sum(node.total_operations for node in nodes),
        bits_read=sum(node.bits_read for node in nodes),
        bits_written=sum(node.bits_written for node in nodes),
    )


def known_no_cost(workload: Workload) -> dict[str, int]:
    """The number of nodes at no cost by operator type, without unrecognized operators."""
    unknown = workload.unknown_operators
    counts = workload.no_cost_operators.items()
    left = {operator: count - unknown.get(operator, 0) for operator, count in counts}
    return {operator: count for operator, count in left.items() if count}
