"""How wide partial sums are, where a network does not state it."""

from collections.abc import Callable
from typing import Final

from nestmap.model.base import copy_with
from nestmap.model.errors import InputError
from nestmap.model.units import Bits
from nestmap.model.workload.graph import LayerNode, Workload
from nestmap.model.workload.layer import Layer, OutputOperand

ASSUMED_SUMS: Final = 32
"""Bits of a sum of products where a network does not state them, as in ONNX."""


def with_sum_bits(workload: Workload, bits: Bits) -> Workload:
    """The network with partial sums of so many bits, or of a finished output's where it has more.

    >>> from nestmap import conv2d, network
    >>> net = network("net", conv2d("a", (1, 3, 16, 16), (8, 3, 3, 3)))
    >>> with_sum_bits(net, 24).layers[0].output.partial_precision
    24

    Raises:
        InputError: if a sum has no bits.
    """
    if bits < 1:
        raise InputError("sum_bits", str(bits), "at least 1 bit")

    def stated(layer: Layer) -> OutputOperand:
        return copy_with(_with_sums(layer, bits), {"assumes_sums": False})

    return _with_outputs(workload, stated)


def narrow_sums(workload: Workload, room: Bits) -> Workload:
    """The network whose assumed sums are no wider than the room for one.

    ONNX computes with sums of 32 bits; a machine with registers of 16 bits for them does not.
    """

    def narrowed(layer: Layer) -> OutputOperand:
        output = layer.output
        is_narrow = output.assumes_sums and output.partial_precision > room
        return _with_sums(layer, room) if is_narrow else output

    return _with_outputs(workload, narrowed)


def _with_sums(layer: Layer, bits: Bits) -> OutputOperand:
    """The output with sums of so many bits, or of those of a finished output.

    Where sums are assumed, an output that is wider than all inputs is a sum itself, as those of
    MatMulInteger are: 32 bits are the type that ONNX has for it.
    """
    output = layer.output
    is_sum = output.assumes_sums and output.precision > max(x.precision for x in layer.inputs)
    precision = min(bits, output.precision) if is_sum else output.precision
    changes = {"precision": precision, "partial_precision": max(bits, precision)}
    return copy_with(output, {**changes})


def _with_outputs(workload: Workload, changed: Callable[[Layer], OutputOperand]) -> Workload:
    def node_with(node: LayerNode) -> LayerNode:
        output = changed(node.layer)
        if output == node.layer.output:
            return node
        layer: Layer = copy_with(node.layer, {"output": output})
        return copy_with(node, {"layer": layer})

    nodes = tuple(node_with(x) if isinstance(x, LayerNode) else x for x in workload.nodes)
    return workload if nodes == workload.nodes else copy_with(workload, {"nodes": nodes})
