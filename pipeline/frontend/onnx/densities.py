"""Counts the zeros in the constants of an ONNX model."""

from collections.abc import Mapping
from typing import Final

import numpy as np
import numpy.typing as npt
import onnx
from onnx import numpy_helper

from nestmap.model import InputError, LayerNode, Workload
from nestmap.model.errors import warn_of_input
from nestmap.model.workload.densities import set_densities
from nestmap.model.workload.layer import InputOperand, Operand

_MOVES: Final = frozenset(
    ("Cast", "Flatten", "Identity", "Reshape", "Squeeze", "Transpose", "Unsqueeze")
)
"""Operators whose output has the zeros of their first input."""

_DEQUANTIZE: Final = "DequantizeLinear"
_ZERO_POINT: Final = 2
"""The place of the zero point among its inputs."""

_EXPECTED: Final = "a model whose weights are in the same file, to measure their density"


def with_measured_densities(workload: Workload, model: onnx.ModelProto, where: str) -> Workload:
    """The network with the share of elements that are not zero of each constant it reads.

    Tensors that the model computes from constants are measured if they have the same elements.
    Constants without a nonzero element count as having one. A warning says how many could not be
    measured.

    Raises:
        InputError: if the data of a constant is in another file, or does not have its shape.
    """
    reads = {
        _tensor_of(node, operand)
        for node in workload.nodes
        if isinstance(node, LayerNode)
        for operand in node.layer.inputs
        if operand.constant
    }
    densities = _densities(model.graph, reads, where)
    unknown = sorted(reads - densities.keys())
    if unknown:
        found = f"{len(unknown)} of {len(reads)} weights that are computed, such as {unknown[0]}"
        warn_of_input(where, found, "stored weights; the others count as without zeros")

    def density_of(node: LayerNode, operand: Operand) -> float | None:
        if not isinstance(operand, InputOperand) or not operand.constant:
            return None
        return densities.get(_tensor_of(node, operand))

    return set_densities(workload, density_of)


def _tensor_of(node: LayerNode, operand: InputOperand) -> str:
    """The name of the tensor that an operand reads; empty if it has none."""
    number = node.layer.inputs.index(operand)
    place = node.positions[number] if node.positions else number
    return node.inputs[place].name if place < len(node.inputs) else ""


def _densities(graph: onnx.GraphProto, reads: set[str], where: str) -> dict[str, float]:
    """The densities of the tensors that are read, by name; tensors that are computed have none."""
    stored = {tensor.name: tensor for tensor in graph.initializer} | _constants(graph)
    makers = {name: node for node in graph.node for name in node.output}
    found: dict[str, float] = {}
    for name in sorted(reads):
        source, zero_point = _stored(name, makers)
        if source not in stored:
            continue
        zeros = (
            np.unique(_values(stored[zero_point], where)) if zero_point in stored else np.zeros(1)
        )
        if len(zeros) == 1:  # else another value is zero in each channel
            found[name] = _density(_values(stored[source], where), zeros)
    return found


def _constants(graph: onnx.GraphProto) -> dict[str, onnx.TensorProto]:
    """The tensors of Constant nodes."""
    return {
        node.output[0]: attribute.t
        for node in graph.node
        if node.op_type == "Constant"
        for attribute in node.attribute
        if attribute.HasField("t")
    }


def _stored(name: str, makers: Mapping[str, onnx.NodeProto]) -> tuple[str, str]:
    """The stored tensor that has the elements of a tensor, and that of the value that is zero."""
    zero_point, seen = "", set[str]()
    while name in makers and name not in seen and makers[name].op_type in {*_MOVES, _DEQUANTIZE}:
        seen.add(name)
        node = makers[name]
        if node.op_type == _DEQUANTIZE and len(node.input) > _ZERO_POINT:
            zero_point = node.input[_ZERO_POINT]
        name = node.input[0]
    return name, zero_point


def _values(tensor: onnx.TensorProto, where: str) -> npt.NDArray[np.generic]:
    """The elements of a tensor."""
    if tensor.data_location == onnx.TensorProto.EXTERNAL:
        raise InputError(f"{where}: tensor {tensor.name}", "its data in another file", _EXPECTED)
    try:
        return numpy_helper.to_array(tensor)
    except (ValueError, TypeError, KeyError):
        found = "no data, or not as much as its shape says"
        raise InputError(f"{where}: tensor {tensor.name}", found, _EXPECTED) from None


def _density(values: npt.NDArray[np.generic], zero: npt.NDArray[np.generic]) -> float:
    """The share of elements that differ from the one that is zero."""
    return max(1, int(np.count_nonzero(values != zero))) / max(1, values.size)
