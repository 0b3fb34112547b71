"""Turns an ONNX model into a workload."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import onnx

from nestmap.model import InputError, Layer, LayerNode, NoCostNode, Workload
from nestmap.pipeline.parsers.onnx.conv import conv_layer
from nestmap.pipeline.parsers.onnx.graph import nodes_in_order, tensor_origins
from nestmap.pipeline.parsers.onnx.load import load_model
from nestmap.pipeline.parsers.onnx.matrix import gemm_layer, matmul_layer
from nestmap.pipeline.parsers.onnx.reader import NodeReader
from nestmap.pipeline.parsers.onnx.shapes import infer_shapes
from nestmap.pipeline.parsers.onnx.skeleton import Skeleton, skeleton

_LAYERS: Mapping[str, Callable[[NodeReader], Layer]] = {
    "Conv": conv_layer,
    "Gemm": gemm_layer,
    "MatMul": matmul_layer,
}


def parse_onnx(source: Path | onnx.ModelProto, *, name: str | None = None) -> Workload:
    """The workload of an ONNX model: Conv, Gemm and MatMul are layers, all else costs nothing.

    Missing shapes are inferred. Data of weights is neither needed nor kept. Nodes may state the
    bits an element in integer attributes: ``weight_size`` for ``W`` (default 8), ``act_size`` for
    ``I`` and the finished ``O`` (default 8), ``output_size`` for partial sums of ``O`` (default
    twice ``act_size``). Biases are left out; so is, with it, what makes the ``C`` of a Gemm.

    Args:
        source: a file or a model; a model is not changed.
        name: the name of the workload; by default that of the file or of the graph.

    Raises:
        InputError: where the file or the model is wrong: it names the node and the tensor.
    """
    where, default = _labels(source)
    small = skeleton(load_model(source) if isinstance(source, Path) else source, where)
    return _workload(small, where, name or default)


def _labels(source: Path | onnx.ModelProto) -> tuple[str, str]:
    """How messages call the model, and the default name of its workload."""
    if isinstance(source, Path):
        return str(source), source.stem or "onnx"
    name = str(source.graph.name) or "onnx"
    return f"model {name!r}", name


def _workload(small: Skeleton, where: str, name: str) -> Workload:
    graph = small.model.graph
    nodes = nodes_in_order(graph, where)
    if not nodes:
        raise InputError(where, "a graph without nodes", "an ONNX model with at least one node")
    origins = tensor_origins(graph, nodes, small.constants, where)
    # Inference walks the nodes in the order in which they stand.
    protos = [node.proto for node in nodes]
    del graph.node[:]
    graph.node.extend(protos)
    shapes = infer_shapes(small.model, where)

    def converted(reader: NodeReader) -> LayerNode | NoCostNode:
        parse_layer = _LAYERS.get(reader.node.operator)
        return reader.no_cost() if parse_layer is None else LayerNode(layer=parse_layer(reader))

    readers = (NodeReader(f"{where}: {node}", node, shapes, origins) for node in nodes)
    return Workload(name=name, nodes=tuple(converted(reader) for reader in readers))
