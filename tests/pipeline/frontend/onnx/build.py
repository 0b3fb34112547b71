"""Small ONNX models for the tests: float tensors whose weights have no data."""

from collections.abc import Mapping, Sequence

import onnx
from onnx import helper

from nestmap.model import Layer
from nestmap.pipeline.frontend.onnx import parse_onnx

Shapes = Mapping[str, Sequence[int | str | None] | None]
Attribute = int | str | float | Sequence[int]

FLOAT = onnx.TensorProto.FLOAT


def node(
    operator: str,
    reads: str,
    writes: str,
    attributes: Mapping[str, Attribute] | None = None,
    *,
    name: str = "",
    domain: str = "",
) -> onnx.NodeProto:
    """A node that reads and writes tensors given by name, separated by blanks."""
    made = helper.make_node(operator, reads.split(), writes.split(), name=name, domain=domain)
    for key, value in (attributes or {}).items():
        made.attribute.append(helper.make_attribute(key, value))
    return made


def weights(name: str, *dims: int) -> onnx.TensorProto:
    """A float initializer without data."""
    return onnx.TensorProto(name=name, data_type=FLOAT, dims=dims)


def integers(name: str, *values: int) -> onnx.TensorProto:
    """A stored vector of integers, as Reshape reads it."""
    return helper.make_tensor(name, onnx.TensorProto.INT64, [len(values)], values)


def model(
    nodes: Sequence[onnx.NodeProto],
    inputs: Shapes,
    stored: Sequence[onnx.TensorProto] = (),
    *,
    outputs: Shapes | None = None,
    functions: Sequence[onnx.FunctionProto] = (),
) -> onnx.ModelProto:
    """A model; by default its output is what the last node makes, of unknown type."""
    last = [onnx.ValueInfoProto(name=nodes[-1].output[0])]
    made = last if outputs is None else _values(outputs)
    graph = helper.make_graph(nodes, "net", _values(inputs), made, stored)
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("acme", 1)]
    return helper.make_model(graph, functions=functions, opset_imports=opsets)


def one(
    operator: str,
    inputs: Shapes,
    stored: Mapping[str, Sequence[int]],
    attributes: Mapping[str, Attribute] | None = None,
) -> onnx.ModelProto:
    """A model of one node ``n`` that reads all inputs, then all stored tensors."""
    reads = " ".join((*inputs, *stored))
    tensors = [weights(name, *dims) for name, dims in stored.items()]
    return model([node(operator, reads, "y", attributes, name="n")], inputs, tensors)


def layer_of(source: onnx.ModelProto) -> Layer:
    """The only layer of a model."""
    (layer,) = parse_onnx(source).layers
    return layer


def inferred_output(source: onnx.ModelProto) -> tuple[int, ...]:
    """The shape of the only output, as onnx infers it."""
    value = onnx.shape_inference.infer_shapes(source).graph.output[0]
    return tuple(dim.dim_value for dim in value.type.tensor_type.shape.dim)


def _values(shapes: Shapes) -> list[onnx.ValueInfoProto]:
    return [
        helper.make_tensor_value_info(name, FLOAT, None if shape is None else list(shape))
        for name, shape in shapes.items()
    ]
