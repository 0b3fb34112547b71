"""Writes a copy of an ONNX model with split layers, without the data of its weights."""

from collections.abc import Sequence
from math import prod
from pathlib import Path
from typing import Final, final

import onnx
from onnx import helper

from nestmap.model import InputError, LayerNode, NoCostNode, VectorNode
from nestmap.model.workload.access import Shift
from nestmap.pipeline.frontend.onnx.load.graph import sort_nodes
from nestmap.pipeline.frontend.onnx.load.onnx_file import load_model
from nestmap.pipeline.frontend.onnx.load.skeleton import SMALL, all_nodes
from nestmap.pipeline.util.atomic_files import replacing
from nestmap.search.multicore.split.layer_parts import LayerSplit

# --- writes parts of ONNX nodes ---

# --- writes a copy of an ONNX model with split layers, without the data of its weights ---

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


INPUT_SLICES: Final = 10
"""The first opset in which Slice takes starts and ends as inputs instead of attributes."""

LEAST_IR: Final = 6
"""The first version of the ONNX format with sparse tensors."""


def write_split_model(source: Path, target: Path, splits: Sequence[LayerSplit]) -> None:
    """Writes the model with each of the given layers replaced by its parts.

    Tensors with more than 1024 elements, tensors stored in other files and the weights of parts
    keep only type and shape (as sparse tensors without values), so the file is small and complete.

    Args:
        source: the ONNX file that the network was read from.
        target: the file to write.
        splits: the split layers; each has the name of its node.

    Raises:
        InputError: if a file cannot be read or written, a layer is not a node of the main graph, or
            its operator cannot be written in parts.
    """
    model = load_model(source)
    split_model(model, splits, str(source))
    with replacing(target) as part:
        part.write_bytes(model.SerializeToString())


def split_model(model: onnx.ModelProto, splits: Sequence[LayerSplit], where: str) -> None:
    """Replaces nodes of the model by the parts of their layers; see :func:`write_split_model`."""
    protos = list(model.graph.node)
    names = {id(node.proto): node.name for node in sort_nodes(protos, where)}
    wanted = {split.layer.name: split for split in splits}
    missing = sorted(wanted.keys() - set(names.values()))
    if missing:
        raise InputError(
            where,
            f"layer {missing[0]!r}, which is not a node of the main graph",
            "split layers that are nodes of the main graph, not of functions or subgraphs",
        )
    version = next((x.version for x in model.opset_import if x.domain in ("", "ai.onnx")), 0)
    writing = _Writing(model.graph, version, where)
    nodes = [
        made
        for proto in protos
        for made in (
            writing.nodes(proto, wanted[names[id(proto)]])
            if names[id(proto)] in wanted
            else [_copy(proto)]
        )
    ]
    del model.graph.node[:]
    model.graph.node.extend(nodes)
    writing.tensors.drop_data()
    model.ir_version = max(model.ir_version, LEAST_IR)


def _copy(proto: onnx.NodeProto) -> onnx.NodeProto:
    copy = onnx.NodeProto()
    copy.CopyFrom(proto)
    return copy


@final
class _Writing:
    """Writes the nodes of split layers and the tensors that they need."""

    def __init__(self, graph: onnx.GraphProto, version: int, where: str) -> None:
        self._graph = graph
        self._version = version
        self._where = where
        self.tensors = EmptyTensors(graph)

    def nodes(self, proto: onnx.NodeProto, split: LayerSplit) -> list[onnx.NodeProto]:
        """The nodes that replace a node."""
        parts = PartWriter(proto, split.layer, self.tensors, self._where, self._version)
        made: list[onnx.NodeProto] = []
        element = self.tensors.element(proto.output[0])
        for node in split.nodes:
            match node:
                case LayerNode():
                    made.append(parts.write_part(node))
                case VectorNode():
                    parts.check_summed()
                    made.append(self._plain(node))
                case NoCostNode() if node.operator == "Slice":
                    made.append(self._slice(node))
                case NoCostNode():
                    made.append(self._plain(node, axis=_steps(node)[0].axis))
            output = node.outputs[0]
            is_slice = isinstance(node, NoCostNode) and node.operator == "Slice"
            kind = self.tensors.element(node.inputs[0].name) if is_slice else element
            if output.name != proto.output[0]:
                self.tensors.describe(output.name, kind, output.sizes or ())
        return made

    def _plain(self, node: VectorNode | NoCostNode, axis: int | None = None) -> onnx.NodeProto:
        reads, writes = [x.name for x in node.inputs], [x.name for x in node.outputs]
        made = helper.make_node(node.operator, reads, writes, name=node.name)
        if axis is not None:
            made.attribute.append(helper.make_attribute("axis", axis))
        return made

    def _slice(self, node: NoCostNode) -> onnx.NodeProto:
        steps, sizes = _steps(node), node.outputs[0].sizes or ()
        values = {
            "starts": [step.start for step in steps],
            "ends": [step.start + sizes[step.axis] for step in steps],
            "axes": [step.axis for step in steps],
        }
        made = self._plain(node)
        if self._version < INPUT_SLICES:
            del made.input[1:]
            made.attribute.extend(helper.make_attribute(*pair) for pair in values.items())
            return made
        for tensor, value in zip(node.inputs[1:], values.values(), strict=True):
            self._graph.initializer.append(
                helper.make_tensor(tensor.name, _T.INT64, [len(value)], value)
            )
        return made


def _steps(node: NoCostNode) -> tuple[Shift, ...]:
    """The shifts of a Slice node, or of one input of a Concat node."""
    first = next(iter(node.routes or ()))
    return tuple(step for step in first.steps if isinstance(step, Shift))
