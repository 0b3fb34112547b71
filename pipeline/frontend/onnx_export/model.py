"""Writes a copy of an ONNX model with split layers, without the data of its weights."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final, final

import onnx
from onnx import helper

from nestmap.model import InputError, LayerNode, NoCostNode, VectorNode
from nestmap.model.workload.access import Shift
from nestmap.pipeline.frontend.onnx.load.graph import sort_nodes
from nestmap.pipeline.frontend.onnx.load.onnx_file import load_model
from nestmap.pipeline.frontend.onnx_export.nodes import EmptyTensors, PartWriter
from nestmap.pipeline.util.atomic_files import replacing
from nestmap.search.multicore.split.rewrite import LayerSplit

_T = onnx.TensorProto

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
