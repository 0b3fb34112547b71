"""Real networks: those that the onnx package carries, without weights."""

from math import prod
from pathlib import Path

import onnx
import pytest
from onnx import shape_inference

from nestmap.pipeline.frontend.onnx import parse_onnx

FILES = sorted((Path(onnx.__file__).parent / "backend/test/data/light").glob("light_*.onnx"))

# Multiply-accumulates as the literature gives them, in 10^9, for 224 x 224 images. (AlexNet's 0.72
# are for 227 x 227; this file has 224 and 54 x 54 positions in its first layer.)
PUBLISHED = {
    "light_bvlc_alexnet": 0.655,
    "light_densenet121": 2.83,
    "light_inception_v1": 1.43,
    "light_inception_v2": 2.02,
    "light_resnet50": 4.09,
    "light_shufflenet": 0.125,
    "light_squeezenet": 0.35,
    "light_vgg19": 19.6,
    "light_zfnet512": 1.48,
}


def test_all_are_here() -> None:
    assert {path.stem for path in FILES} == set(PUBLISHED)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_macs(path: Path) -> None:
    workload = parse_onnx(path)
    assert workload.macs / 1e9 == pytest.approx(PUBLISHED[path.stem], rel=0.02)
    assert workload.macs == sum(_macs_by_node(path))
    assert workload.name == path.stem


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_weights_are_constant_and_activations_have_sources(path: Path) -> None:
    first, *others = parse_onnx(path).layers
    assert [x.source for x in first.inputs if x.name == "I"] == [None]
    for layer in others:
        assert {x.name: x.constant for x in layer.inputs} == {"W": True, "I": False}
        assert all(x.source is not None for x in layer.inputs)


def _macs_by_node(path: Path) -> list[int]:
    """Elements of the output times products for each, from the shapes that onnx infers."""
    model = onnx.ModelProto.FromString(path.read_bytes())
    graph = shape_inference.infer_shapes(model, data_prop=True).graph
    shapes = {
        value.name: [dim.dim_value for dim in value.type.tensor_type.shape.dim]
        for values in (graph.input, graph.value_info, graph.output)
        for value in values
    }
    counts: list[int] = []
    for node in graph.node:
        if node.op_type == "Conv":
            counts.append(prod(shapes[node.output[0]]) * prod(shapes[node.input[1]][1:]))
        if node.op_type == "Gemm":
            counts.append(prod(shapes[node.output[0]]) * shapes[node.input[0]][1])
    return counts
