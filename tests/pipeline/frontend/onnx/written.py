"""Small ONNX models for the tests, written in the ONNX text format."""

import onnx
from onnx import parser

from nestmap.model import VectorNode
from nestmap.pipeline.frontend.onnx import parse_onnx

_HEAD = '<ir_version: 10, opset_import: ["": {opset}, "com.microsoft": 1]>'


def written(
    inputs: str, nodes: str, *, outputs: str = "y", stored: str = "", opset: int = 23
) -> onnx.ModelProto:
    """A model from text: ``written("float[2,3] x", "y = Relu (x)")``."""
    constants = f"<{stored}>" if stored else ""
    text = f"{_HEAD.format(opset=opset)} net ({inputs}) => ({outputs}) {constants} {{ {nodes} }}"
    return parser.parse_model(text)


def vector_of(source: onnx.ModelProto) -> VectorNode:
    """The only vector operator of a model."""
    (node,) = parse_onnx(source).vector_nodes
    return node
