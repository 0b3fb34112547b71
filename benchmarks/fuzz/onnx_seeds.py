"""The models that the fuzz script starts from: bundled, of the onnx package, and made here."""

from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from tests.pipeline.frontend.onnx.node_cases import node_cases

_LARGEST = 200_000  # bytes: larger ones take most of the time and show nothing new


def seed_models() -> list[bytes]:
    """The models as files."""
    data = Path(onnx.__file__).parent / "backend/test/data"
    files = [path.read_bytes() for path in sorted(data.rglob("*.onnx"))]
    models = [case.model.SerializeToString() for case in node_cases().values()]
    # Ours, and real networks, stand for more than one operator: they come up more often.
    return [
        *(model for model in (*models, *files) if len(model) <= _LARGEST),
        *(model.SerializeToString() for model in own_models() for _ in range(200)),
    ]


def own_models() -> tuple[onnx.ModelProto, ...]:
    """Small networks: layers, bodies, local functions, computed shapes."""
    return _network(), _control_flow(), _functions(), _computed_shapes()


def _model(
    nodes: list[onnx.NodeProto],
    stored: list[onnx.TensorProto],
    functions: list[onnx.FunctionProto] | None = None,
) -> onnx.ModelProto:
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 4, 8, 8])]
    outputs = [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)]
    graph = helper.make_graph(nodes, "net", inputs, outputs, stored)
    opsets = [helper.make_opsetid("", 18), helper.make_opsetid("acme", 1)]
    return helper.make_model(graph, functions=functions or [], opset_imports=opsets)


def _floats(name: str, *sizes: int) -> onnx.TensorProto:
    return numpy_helper.from_array(np.zeros(sizes, np.float32), name)


def _integers(name: str, *values: int) -> onnx.TensorProto:
    return helper.make_tensor(name, TensorProto.INT64, [len(values)], values)


def _scalar(name: str, value: int | bool) -> onnx.TensorProto:
    return numpy_helper.from_array(np.array(value), name)


def _network() -> onnx.ModelProto:
    """Convolution, pooling, normalization, attention-like products."""
    nodes = [
        helper.make_node("Conv", ["x", "w", "b"], ["c"], pads=[1, 1, 1, 1], group=2),
        helper.make_node("BatchNormalization", ["c", "b", "b", "b", "b"], ["n"]),
        helper.make_node("MaxPool", ["n"], ["p"], kernel_shape=[2, 2], strides=[2, 2]),
        helper.make_node("Reshape", ["p", "to"], ["f"]),
        helper.make_node("Transpose", ["f"], ["t"], perm=[0, 2, 1]),
        helper.make_node("MatMul", ["f", "t"], ["s"]),
        helper.make_node("Softmax", ["s"], ["q"]),
        helper.make_node("Gemm", ["q2", "g"], ["y"], transB=1),
        helper.make_node("Squeeze", ["q", "zero"], ["q2"]),
    ]
    stored = [_floats("w", 6, 2, 3, 3), _floats("b", 6), _integers("to", 1, 6, -1)]
    return _model(nodes, [*stored, _floats("g", 5, 6), _integers("zero", 0)])


def _values(*names: str) -> list[onnx.ValueInfoProto]:
    return [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in names]


def _control_flow() -> onnx.ModelProto:
    """If in Loop, and Scan, with products in all of them."""
    product = helper.make_node("MatMul", ["h", "w"], ["t"])
    yes = helper.make_graph([product], "yes", [], _values("t"))
    no = helper.make_graph([], "no", [], _values("h"))
    body = helper.make_graph(
        [
            helper.make_node("Identity", ["before"], ["on"]),
            helper.make_node("If", ["before"], ["next"], then_branch=yes, else_branch=no),
        ],
        "body",
        _values("i", "before", "h"),
        _values("on", "next", "next"),
    )
    step = helper.make_graph(
        [helper.make_node("MatMul", ["part", "w"], ["made"])],
        "step",
        _values("state", "part"),
        _values("state", "made"),
    )
    nodes = [
        helper.make_node("Loop", ["n", "c", "x"], ["l", "all"], body=body),
        helper.make_node("Scan", ["l", "l"], ["z", "y"], body=step, num_scan_inputs=1),
    ]
    return _model(nodes, [_scalar("n", 3), _scalar("c", True), _floats("w", 8, 8)])


def _functions() -> onnx.ModelProto:
    """A function that calls another one, with an attribute handed on."""
    standard = [helper.make_opsetid("", 17), helper.make_opsetid("acme", 1)]
    gemm = helper.make_node("Gemm", ["a", "b"], ["t"])
    reference = onnx.AttributeProto(name="transB", ref_attr_name="turned")
    reference.type = onnx.AttributeProto.INT
    gemm.attribute.append(reference)
    body = [gemm, helper.make_node("Relu", ["t"], ["c"])]
    dense = helper.make_function("acme", "Dense", ["a", "b"], ["c"], body, standard, ["turned"])
    calls = [
        helper.make_node("Dense", ["a", "b"], ["m"], domain="acme", turned=1),
        helper.make_node("Dense", ["m", "b"], ["c"], domain="acme", turned=0),
    ]
    block = helper.make_function("acme", "Block", ["a", "b"], ["c"], calls, standard)
    nodes = [
        helper.make_node("Reshape", ["x", "to"], ["f"]),
        helper.make_node("Block", ["f", "w"], ["y"], domain="acme"),
    ]
    return _model(nodes, [_integers("to", 32, 8), _floats("w", 8, 8)], [dense, block])


def _computed_shapes() -> onnx.ModelProto:
    """Sizes on their way through many small operators."""
    nodes = [
        helper.make_node("Shape", ["x"], ["s"]),
        helper.make_node("Gather", ["s", "last"], ["n"]),
        helper.make_node("Range", ["zero", "n", "one"], ["r"]),
        helper.make_node("Slice", ["s", "from", "far"], ["tail"]),
        helper.make_node("ConstantOfShape", ["tail"], ["k"]),
        helper.make_node("Equal", ["tail", "eight"], ["e"]),
        helper.make_node("Where", ["e", "eight", "tail"], ["to"]),
        helper.make_node("Expand", ["k", "to"], ["f"]),
        helper.make_node("Cast", ["f"], ["g"], to=1),
        helper.make_node("MatMul", ["g", "w"], ["y"]),
    ]
    stored = [_scalar("zero", 0), _scalar("one", 1), _scalar("last", -1), _integers("from", 2)]
    return _model(nodes, [*stored, _integers("far", 9), _integers("eight", 8), _floats("w", 8, 4)])
