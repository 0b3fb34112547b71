"""Zeros in the constants of ONNX models, counted on request."""

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

from nestmap.model import InputError, InputWarning, Layer
from nestmap.pipeline.frontend.onnx import parse_onnx
from nestmap.pipeline.frontend.read.workload import read_workload
from tests.pipeline.frontend.onnx.build import model, node, weights

SPARSE = np.array([[0, 1], [2, 0], [0, 0], [3, 0]])  # three of eight are not zero
SHAPE = {"x": [5, 4]}


def stored(
    values: np.ndarray[tuple[int, ...], np.dtype[np.generic]], name: str
) -> onnx.TensorProto:
    return numpy_helper.from_array(values, name)


def only_layer(source: onnx.ModelProto) -> Layer:
    (layer,) = parse_onnx(source, measures_density=True).layers
    return layer


def density(source: onnx.ModelProto) -> float:
    return only_layer(source).operand("W").density


PLAIN = model(
    [node("MatMul", "x w", "y", name="product")], SHAPE, [stored(SPARSE.astype(np.float32), "w")]
)


def test_the_share_of_elements_that_are_not_zero_is_that_of_the_constant() -> None:
    layer = only_layer(PLAIN)
    assert [(x.name, x.density) for x in layer.operands] == [("O", 1.0), ("I", 1.0), ("W", 0.375)]


def test_without_the_request_nothing_is_counted() -> None:
    assert {x.density for x in parse_onnx(PLAIN).layers[0].operands} == {1.0}


def test_tensors_with_the_same_elements_count() -> None:
    moved = model(
        [
            node("Transpose", "w", "t", {"perm": [1, 0]}),
            node("Cast", "t", "c", {"to": onnx.TensorProto.FLOAT}),
            node("MatMul", "x c", "y"),
        ],
        SHAPE,
        [stored(SPARSE.T.astype(np.float16), "w")],
    )
    assert density(moved) == 0.375


def test_constants_of_nodes_count() -> None:
    made = helper.make_node("Constant", [], ["w"], value=stored(SPARSE.astype(np.float32), "w"))
    assert density(model([made, node("MatMul", "x w", "y")], SHAPE)) == 0.375


@pytest.mark.parametrize("zero_points", [(7,), (7, 7)])
def test_quantized_zeros_are_those_of_the_zero_point(zero_points: tuple[int, ...]) -> None:
    assert density(quantized(zero_points)) == 0.375


def test_zeros_that_differ_from_channel_to_channel_are_not_counted() -> None:
    with pytest.warns(InputWarning, match="1 of 1 weights"):
        assert density(quantized((7, 8))) == 1.0


def quantized(zero_points: tuple[int, ...]) -> onnx.ModelProto:
    """The product with weights of 8 bit, and zero points for all channels or for each."""
    points = np.squeeze(np.array(zero_points, np.uint8))
    scales = np.ones(points.shape, np.float32)
    return model(
        [node("DequantizeLinear", "q s z", "w"), node("MatMul", "x w", "y")],
        SHAPE,
        [stored((SPARSE + 7).astype(np.uint8), "q"), stored(scales, "s"), stored(points, "z")],
    )


def test_computed_constants_are_not_measured() -> None:
    values = [stored(SPARSE.astype(np.float32), "a"), stored(SPARSE.astype(np.float32), "b")]
    added = model([node("Add", "a b", "w"), node("MatMul", "x w", "y")], SHAPE, values)
    with pytest.warns(InputWarning, match="1 of 1 weights that are computed, such as w"):
        assert density(added) == 1.0


def test_biases_are_not_measured() -> None:
    biased = model(
        [node("Gemm", "x w b", "y")],
        SHAPE,
        [stored(SPARSE.astype(np.float32), "w"), weights("b", 2)],  # without data
    )
    assert density(biased) == 0.375


def test_a_constant_of_zeros_has_one_that_is_not() -> None:
    zeros = stored(np.zeros((4, 2), np.float32), "w")
    assert density(model([node("MatMul", "x w", "y")], SHAPE, [zeros])) == 1 / 8


def test_data_has_to_be_there() -> None:
    without = model([node("MatMul", "x w", "y")], SHAPE, [weights("w", 4, 2)])
    with pytest.raises(
        InputError, match=r"tensor w: found no data.*expected a model whose weights"
    ):
        only_layer(without)
    elsewhere = model([node("MatMul", "x w", "y")], SHAPE, [weights("w", 4, 2)])
    elsewhere.graph.initializer[0].data_location = onnx.TensorProto.EXTERNAL
    with pytest.raises(InputError, match="tensor w: found its data in another file"):
        only_layer(elsewhere)


def test_files_are_measured_in_their_process(tmp_path: Path) -> None:
    file = tmp_path / "net.onnx"
    file.write_bytes(PLAIN.SerializeToString())
    (layer,) = read_workload(file, measures_density=True).layers
    assert layer.operand("W").density == 0.375
    (layer,) = read_workload(file).layers
    assert layer.operand("W").density == 1.0


def test_other_networks_state_their_densities() -> None:
    with pytest.raises(InputError, match="--measure-density"):
        read_workload("bert-base", measures_density=True)
