"""Weights stay where they are: no data needed, none read, nothing changed."""

from pathlib import Path

import numpy as np
import onnx
from onnx import external_data_helper, numpy_helper

from nestmap.pipeline.frontend.onnx import parse_onnx
from nestmap.pipeline.frontend.onnx.load.skeleton import skeleton
from tests.pipeline.frontend.onnx.build import integers, layer_of, model, node, one, weights


def _with_data() -> onnx.ModelProto:
    nodes = [
        onnx.helper.make_node(
            "Constant", [], ["m"], value=numpy_helper.from_array(np.ones((128, 64), np.float32))
        ),
        node("MatMul", "x w", "a"),
        node("MatMul", "a m", "b"),
        node("Reshape", "b to", "y"),
    ]
    stored = [numpy_helper.from_array(np.ones((64, 128), np.float32), "w"), integers("to", -1, 32)]
    return model(nodes, {"x": (4, 64)}, stored)


def test_the_model_is_not_changed() -> None:
    source = _with_data()
    before = source.SerializeToString(deterministic=True)
    parse_onnx(source)
    assert source.SerializeToString(deterministic=True) == before


def test_large_tensors_lose_their_data_and_small_ones_keep_it() -> None:
    source = _with_data()
    small = skeleton(source, "net")
    assert source.ByteSize() > 64 * 128 * 4 * 2
    assert small.model.ByteSize() < 1000
    stored = small.model.graph.initializer
    assert [(x.name, list(x.dims), x.HasField("raw_data")) for x in stored] == [
        ("w", [64, 128], False),
        ("to", [2], False),
    ]
    assert list(stored[1].int64_data) == [-1, 32]
    assert small.constants == {"w", "to"}


def test_external_data_need_not_be_present(tmp_path: Path) -> None:
    source = _with_data()
    inside = parse_onnx(source, name="net")
    path = tmp_path / "net.onnx"
    for tensor in (source.graph.initializer[0], source.graph.node[0].attribute[0].t):
        external_data_helper.set_external_data(tensor, "nowhere.bin")
        tensor.ClearField("raw_data")
    path.write_bytes(source.SerializeToString())
    assert parse_onnx(path) == inside
    assert [layer.macs for layer in inside.layers] == [4 * 64 * 128, 4 * 128 * 64]


def test_a_network_too_large_for_a_protobuf_message() -> None:
    layers = 3
    nodes = [node("MatMul", f"x{i} w{i}", f"x{i + 1}") for i in range(layers)]
    stored = [weights(f"w{i}", 30_000, 30_000) for i in range(layers)]
    network = parse_onnx(model(nodes, {"x0": (1, 30_000)}, stored))
    assert network.macs == layers * 30_000**2


def test_shapes_computed_from_small_constants() -> None:
    nodes = [
        node("Shape", "x", "s"),
        node("Gather", "s first", "n"),
        node("Concat", "n rest", "to", {"axis": 0}),
        node("Reshape", "x to", "f"),
        node("MatMul", "f w", "y"),
    ]
    stored = [integers("first", 0), integers("rest", -1), weights("w", 60, 7)]
    layer = layer_of(model(nodes, {"x": (2, 3, 4, 5)}, stored))
    assert layer.sizes == {"C": 60, "D": 2, "K": 7}


def test_sparse_weights_count_as_dense_ones() -> None:
    source = one("MatMul", {"x": (2, 40)}, {})
    source.graph.node[0].input.append("w")
    values, indices = weights("w", 3), integers("", 1, 5, 7)
    source.graph.sparse_initializer.append(
        onnx.SparseTensorProto(values=values, indices=indices, dims=[40, 50])
    )
    layer = layer_of(source)
    assert layer.sizes == {"C": 40, "D": 2, "K": 50}
    assert layer.inputs[1].constant
