"""Writes parts of ONNX nodes: the same operator with a share of the weights, without their data."""

from __future__ import annotations

from math import prod
from typing import Final, final

import onnx
from onnx import helper

from nestmap.model import InputError, LayerNode
from nestmap.pipeline.frontend.onnx.load.skeleton import SMALL, all_nodes

_T = onnx.TensorProto

_DATA: Final = ("raw_data", *(f"{x}_data" for x in ("float", "int32", "int64", "double", "uint64")))
"""The fields in which a tensor holds its elements."""

FREE_BIAS: Final = 11
"""The first opset in which the bias of Gemm is optional."""

_CONSTANTS: Final = frozenset({"Constant", "ConstantOfShape"})

CONVOLUTIONS: Final = frozenset({"Conv", "ConvInteger", "QLinearConv"})
PRODUCTS: Final = frozenset({"Gemm", "MatMul", "MatMulInteger", "QLinearMatMul"})
SUMMED: Final = frozenset({"Conv", "Gemm", "MatMul"})
"""Operators whose partial sums can be added: they neither round nor shift their outputs."""


@final
class EmptyTensors:
    """The stored tensors of a graph, and new ones with a type and a shape but no values."""

    def __init__(self, graph: onnx.GraphProto) -> None:
        self._graph = graph
        self._elements = {tensor.name: tensor.data_type for tensor in graph.initializer}
        for sparse in graph.sparse_initializer:
            self._elements[sparse.values.name] = sparse.values.data_type
        self._stored = frozenset(self._elements)
        constants = [node for node in graph.node if node.op_type in _CONSTANTS]
        self._elements |= {node.output[0]: _element(node) for node in constants}
        self._known = frozenset(self._elements)
        for value in (*graph.input, *graph.value_info, *graph.output):
            self._elements.setdefault(value.name, value.type.tensor_type.elem_type)
        self._made: set[str] = set()

    def element(self, name: str) -> int:
        """The ONNX type of a tensor's elements; 0 if unknown."""
        return self._elements.get(name, 0)

    def is_known(self, name: str) -> bool:
        """Whether the tensor is stored in the model or given by a Constant node."""
        return name in self._known

    def describe(self, name: str, element: int, sizes: tuple[int, ...]) -> None:
        """Records the element type and sizes of a tensor that a new node computes."""
        self._elements[name] = element
        if element:
            self._graph.value_info.append(helper.make_tensor_value_info(name, element, sizes))

    def store(self, name: str, like: str, dims: tuple[int, ...]) -> None:
        """Adds a stored tensor with the element type of the tensor ``like``."""
        if name not in self._made:
            self._made.add(name)
            self._graph.sparse_initializer.append(_empty(name, self._elements[like], dims))

    def drop_data(self) -> None:
        """Removes unused stored tensors and the data of large ones."""
        graph = self._graph
        read = {name for node in all_nodes(graph) for name in node.input}
        read.update(value.name for value in graph.output)
        kept = list[_T]()
        empty = [_copied(x) for x in graph.sparse_initializer if x.values.name in read]
        for tensor in graph.initializer:
            if tensor.name in read and tensor.dims and not _is_kept(tensor):
                empty.append(_empty(tensor.name, tensor.data_type, tuple(tensor.dims)))
            elif tensor.name in read:
                kept.append(_T.FromString(tensor.SerializeToString()))
        inputs = [
            onnx.ValueInfoProto.FromString(x.SerializeToString())
            for x in graph.input
            if x.name not in self._stored
        ]
        del graph.initializer[:], graph.sparse_initializer[:], graph.input[:]
        graph.initializer.extend(kept)
        graph.sparse_initializer.extend(empty)
        graph.input.extend(inputs)


def _element(constant: onnx.NodeProto) -> int:
    """The element type of a Constant or a ConstantOfShape."""
    for attribute in constant.attribute:
        if attribute.HasField("t"):
            return attribute.t.data_type
        if attribute.HasField("sparse_tensor"):
            return attribute.sparse_tensor.values.data_type
    return _T.FLOAT


def _is_kept(tensor: onnx.TensorProto) -> bool:
    """Whether a stored tensor is small and has its data in the model file."""
    distant = tensor.data_location == _T.EXTERNAL
    fields = {field.name for field, _ in tensor.ListFields()}
    return not distant and prod(tensor.dims) <= SMALL and not fields.isdisjoint(_DATA)


def _copied(sparse: onnx.SparseTensorProto) -> onnx.SparseTensorProto:
    dims = tuple(sparse.dims)
    return _empty(sparse.values.name, sparse.values.data_type, dims)


def _empty(name: str, element: int, dims: tuple[int, ...]) -> onnx.SparseTensorProto:
    """A sparse tensor of zeros that stores no element."""
    sparse = onnx.SparseTensorProto(dims=dims)
    sparse.values.CopyFrom(_T(name=name, data_type=element, dims=[0]))
    sparse.indices.CopyFrom(_T(data_type=_T.INT64, dims=[0]))
    return sparse


@final
class PartWriter:
    """Writes the parts of one node."""

    def __init__(
        self,
        proto: onnx.NodeProto,
        layer: LayerNode,
        tensors: EmptyTensors,
        where: str,
        version: int,
    ) -> None:
        self._proto = proto
        self._needs_bias = proto.op_type == "Gemm" and version < FREE_BIAS
        self._node = layer
        self._tensors = tensors
        self._where = f"{where}: layer {layer.name!r}"
        if proto.domain not in ("", "ai.onnx") or proto.op_type not in CONVOLUTIONS | PRODUCTS:
            raise InputError(
                self._where,
                f"operator {layer.operator}, which cannot be written in parts",
                f"one of {', '.join(sorted(CONVOLUTIONS | PRODUCTS))}, or no output file",
            )

    def check_summed(self) -> None:
        """Checks that the parts may compute partial sums.

        Raises:
            InputError: if the operator rounds its output.
        """
        if self._proto.op_type not in SUMMED:
            raise InputError(
                self._where,
                f"{self._proto.op_type} split along its input channels; its parts cannot be added",
                f"one of {', '.join(sorted(SUMMED))}, or no output file",
            )

    def write_part(self, part: LayerNode) -> onnx.NodeProto:
        """One part of the node; stores the weights that it reads, too."""
        renamed = dict[str, str]()
        operands = {self._position(place): place for place in range(len(self._node.layer.inputs))}
        for position, tensor in enumerate(self._node.inputs):
            if position >= len(part.inputs):
                renamed[tensor.name] = ""  # a bias, which only one part adds
                continue
            own, place = part.inputs[position], operands.get(position)
            if place is None and not tensor.constant:
                raise self._computed(tensor.name)
            renamed[tensor.name] = own.name
            if own.name != tensor.name and own.constant:
                if not self._tensors.is_known(tensor.name):
                    raise self._computed(tensor.name)
                dims = own.sizes or ()
                if place is not None:
                    operand = self._node.layer.inputs[place].name
                    dims = self._dims(part, operand, tensor.sizes or ())
                self._tensors.store(own.name, tensor.name, dims)
        return self._written(part, renamed)

    def _position(self, place: int) -> int:
        return self._node.positions[place] if self._node.positions else place

    def _computed(self, name: str) -> InputError:
        return InputError(
            self._where,
            f"weights or biases {name!r} that are not stored in the model",
            "weights and biases stored in the model, or no output file",
        )

    def _dims(self, part: LayerNode, operand: str, whole: tuple[int, ...]) -> tuple[int, ...]:
        """The sizes of a part's constants, in the operator's order of axes."""
        sizes = part.layer.sizes
        if self._proto.op_type in CONVOLUTIONS and operand == "W":
            return (sizes["G"] * sizes["K"], sizes["C"], *whole[2:])
        rows, columns = ("C", "K") if operand == "W" else ("D", "C")
        if len(whole) < 2:
            return (sizes["C"],)
        if self._flag("transB" if operand == "W" else "transA"):
            rows, columns = columns, rows
        return (*whole[:-2], sizes[rows], sizes[columns])

    def _flag(self, name: str) -> bool:
        return any(x.name == name and x.i != 0 for x in self._proto.attribute)

    def _written(self, part: LayerNode, renamed: dict[str, str]) -> onnx.NodeProto:
        made = onnx.NodeProto()
        made.CopyFrom(self._proto)
        made.name = part.name
        reads = [renamed.get(name, name) for name in self._proto.input]
        while reads and not reads[-1]:
            reads.pop()
        if self._needs_bias and len(reads) < len(self._proto.input):
            reads.append(f"{part.name}_zero")
            self._tensors.store(reads[-1], self._proto.input[1], (1,))
        made.input[:] = reads
        made.output[:] = [tensor.name for tensor in part.outputs]
        for attribute in made.attribute:
            if attribute.name == "group":
                attribute.i = part.layer.sizes["G"]
        return made
