"""How wide partial sums are, where a network does not state it."""

from __future__ import annotations

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

    def stated(output: OutputOperand) -> OutputOperand:
        wide = max(bits, output.precision)
        return copy_with(output, {"partial_precision": wide, "assumes_sums": False})

    return _with_outputs(workload, stated)


def narrow_sums(workload: Workload, room: Bits) -> Workload:
    """The network whose assumed sums are no wider than the room for one.

    ONNX computes with sums of 32 bits; a machine with registers of 16 bits for them does not.
    """

    def narrowed(output: OutputOperand) -> OutputOperand:
        if not output.assumes_sums or output.partial_precision <= room:
            return output
        return copy_with(output, {"partial_precision": max(room, output.precision)})

    return _with_outputs(workload, narrowed)


def _with_outputs(
    workload: Workload, changed: Callable[[OutputOperand], OutputOperand]
) -> Workload:
    def node_with(node: LayerNode) -> LayerNode:
        output = changed(node.layer.output)
        if output == node.layer.output:
            return node
        layer: Layer = copy_with(node.layer, {"output": output})
        return copy_with(node, {"layer": layer})

    nodes = tuple(node_with(x) if isinstance(x, LayerNode) else x for x in workload.nodes)
    return workload if nodes == workload.nodes else copy_with(workload, {"nodes": nodes})
