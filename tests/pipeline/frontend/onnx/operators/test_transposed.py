"""ConvTranspose nodes: layers by hand, products counted output by output, sizes against onnx."""

from itertools import product
from math import prod

import onnx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nestmap.model import InputError, Layer, NoCostNode
from nestmap.pipeline.frontend.onnx import parse_onnx
from tests.pipeline.frontend.onnx.build import Attribute, inferred_output, layer_of, one

Attributes = dict[str, Attribute]


def transposed(
    image: tuple[int, ...], weights: tuple[int, ...], attributes: Attributes
) -> onnx.ModelProto:
    return one("ConvTranspose", {"x": image}, {"w": weights}, attributes)


def _sizes(layer: Layer) -> str:
    return " ".join(f"{loop.dimension}{loop.size}" for loop in layer.loops)


def test_kernel_as_large_as_the_stride() -> None:
    """The up-convolution of a U-Net: each input makes four outputs, nothing overlaps."""
    layer = layer_of(transposed((1, 64, 8, 8), (64, 32, 2, 2), {"strides": [2, 2]}))
    assert _sizes(layer) == "B1 K32 G1 PX2 PY2 OX8 OY8 C64 FX1 FY1"
    assert layer.equation == (
        "O[b][g][k][py][oy][px][ox] += W[g][c][k][py][fy][px][fx] * I[b][g][c][oy+fy][ox+fx]"
    )
    assert layer.macs == 64 * 8 * 8 * 2 * 2 * 32


def test_kernel_twice_the_stride() -> None:
    """As in DCGAN: exactly input elements x kernel x output channels."""
    attributes: Attributes = {"strides": [2, 2], "pads": [1, 1, 1, 1]}
    layer = layer_of(transposed((1, 64, 8, 8), (64, 32, 4, 4), attributes))
    assert _sizes(layer) == "B1 K32 G1 PX2 PY2 OX8 OY8 C64 FX2 FY2"
    assert layer.macs == 64 * 8 * 8 * 4 * 4 * 32
    assert [layer.elements(name) for name in "OWI"] == [32 * 16 * 16, 64 * 32 * 16, 64 * 8 * 8]
    assert [index.padding for index in layer.operand("I").indices[3:]] == [(1, 0), (1, 0)]


def test_stride_1_is_a_convolution() -> None:
    layer = layer_of(transposed((1, 4, 8, 8), (4, 2, 3, 3), {}))
    plain = layer_of(one("Conv", {"x": (1, 4, 8, 8)}, {"w": (2, 4, 3, 3)}, {"pads": [2, 2, 2, 2]}))
    assert layer.loops == plain.loops
    assert layer.operand("I").indices == plain.operand("I").indices


def test_a_kernel_that_the_stride_does_not_divide() -> None:
    """One layer for 2 x 2, 2 x 1, 1 x 2 and 1 x 1 kernel elements: none padded, 9 in all."""
    attributes: Attributes = {"strides": [2, 2], "pads": [1, 1, 1, 1], "output_padding": [1, 1]}
    workload = parse_onnx(transposed((1, 64, 8, 8), (64, 32, 3, 3), attributes))
    assert [(x.sizes["FY"], x.sizes["FX"]) for x in workload.layers] == [
        (2, 2),
        (2, 1),
        (1, 2),
        (1, 1),
    ]
    assert workload.macs == 64 * 8 * 8 * 3 * 3 * 32
    *parts, last = workload.nodes
    assert isinstance(last, NoCostNode)
    assert (last.name, last.sources) == ("n", tuple(part.name for part in parts))
    assert [tensor.sizes for tensor in last.outputs] == [(1, 32, 16, 16)]


def test_a_kernel_smaller_than_the_stride_leaves_outputs_out() -> None:
    layer = layer_of(transposed((1, 4, 8, 8), (4, 2, 1, 1), {"strides": [3, 3]}))
    assert layer.macs == 4 * 8 * 8 * 2
    assert layer.elements("O") == 2 * 8 * 8


def test_groups() -> None:
    layer = layer_of(transposed((2, 8, 5, 5), (8, 3, 2, 2), {"strides": [2, 2], "group": 4}))
    assert (layer.sizes["G"], layer.sizes["K"], layer.sizes["C"]) == (4, 3, 2)
    assert layer.elements("W") == 8 * 3 * 4


Axis = tuple[int, int, int, int, int, int, int]
"""Input, kernel, stride, dilation, output padding, both paddings."""


def _axis(numbers: tuple[int, int, int, int, int, int, int]) -> bool:
    size, kernel, stride, dilation, added, before, after = numbers
    whole = stride * (size - 1) + dilation * (kernel - 1) + 1 + added
    return added < max(stride, dilation) and before + after < whole


AXIS = st.tuples(
    st.integers(1, 7),
    st.integers(1, 6),
    st.integers(1, 5),
    st.integers(1, 4),
    st.integers(0, 3),
    st.integers(0, 4),
    st.integers(0, 4),
).filter(_axis)


def _model(axes: list[Axis], groups: int) -> onnx.ModelProto:
    image, kernel, strides, dilations, added, begins, ends = zip(*axes, strict=True)
    attributes: Attributes = {
        "strides": strides,
        "dilations": dilations,
        "output_padding": added,
        "pads": (*begins, *ends),
        "group": groups,
    }
    return transposed((2, 2 * groups, *image), (2 * groups, 3, *kernel), attributes)


def _met(axis: Axis) -> tuple[int, int]:
    """Products of an axis, and those among them that read an input, not the zeros around."""
    size, kernel, stride, dilation, added, before, after = axis
    outputs = stride * (size - 1) + dilation * (kernel - 1) + 1 + added - before - after
    places = [
        divmod(o + before - dilation * f, stride) for o in range(outputs) for f in range(kernel)
    ]
    met = [place for place, rest in places if rest == 0]
    return len(met), sum(0 <= place < size for place in met)


@settings(deadline=None)
@given(st.lists(AXIS, min_size=1, max_size=3), st.integers(1, 2))
def test_products_are_those_of_the_definition(axes: list[Axis], groups: int) -> None:
    model = _model(axes, groups)
    channels = 2 * 2 * groups * 3
    workload = parse_onnx(model)
    assert workload.macs == channels * prod(_met(axis)[0] for axis in axes)
    # What the definition adds up: each input with each weight, unless it is cropped.
    assert channels * prod(_met(axis)[1] for axis in axes) <= workload.macs
    made = sum(layer.elements("O") for layer in workload.layers)
    reached = [len(_reached(axis)) for axis in axes]
    assert made == 2 * 3 * groups * prod(reached)
    (result,) = workload.nodes[-1].outputs
    assert result.sizes == inferred_output(model)


def _reached(axis: Axis) -> set[int]:
    """The outputs that some kernel element reaches."""
    size, kernel, stride, dilation, added, before, after = axis
    outputs = stride * (size - 1) + dilation * (kernel - 1) + 1 + added - before - after
    return {
        o
        for o, f in product(range(outputs), range(kernel))
        if not (o + before - dilation * f) % stride
    }


@settings(deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(1, 6), st.integers(1, 4), st.integers(1, 3)), min_size=1, max_size=3
    ),
    st.sampled_from(["SAME_UPPER", "SAME_LOWER"]),
)
def test_inputs_times_kernel_where_the_stride_divides_it(
    axes: list[tuple[int, int, int]], auto_pad: str
) -> None:
    """``SAME_*`` keeps as many outputs as inputs times stride: as many products as defined."""
    image, strides, times = zip(*axes, strict=True)
    kernel = tuple(s * t for s, t in zip(strides, times, strict=True))
    model = transposed((1, 2, *image), (2, 3, *kernel), {"strides": strides, "auto_pad": auto_pad})
    layer = layer_of(model)
    assert layer.macs == 2 * prod(image) * prod(kernel) * 3
    assert layer.elements("W") == 2 * 3 * prod(kernel)
    assert layer.elements("I") == 2 * prod(image)


def test_stated_output_shape() -> None:
    attributes: Attributes = {"strides": [3, 2], "output_shape": [10, 8]}
    model = transposed((1, 1, 3, 3), (1, 2, 3, 3), attributes)
    # 9 x 7 are reached; outputs added behind those are sums of products with zeros.
    assert sum(layer.elements("O") for layer in parse_onnx(model).layers) == 2 * 10 * 8


WRONG: dict[str, tuple[tuple[int, ...], tuple[int, ...], Attributes, str]] = {
    "channels": ((1, 4, 8, 8), (3, 2, 3, 3), {}, "3 input channels"),
    "groups": ((1, 4, 8, 8), (4, 2, 3, 3), {"group": 3}, "equal groups"),
    "axes": ((1, 4, 8, 8), (4, 2, 3), {}, "the same number of axes in both"),
    "cropped": ((1, 4, 1, 8), (4, 2, 1, 3), {"pads": [1, 0, 0, 0]}, "at least one output"),
    "kernel_shape": ((1, 4, 8, 8), (4, 2, 3, 3), {"kernel_shape": [2, 2]}, "as in the weights"),
    "both": ((1, 4, 8, 8), (4, 2, 3, 3), {"auto_pad": "VALID", "pads": [1] * 4}, "only one"),
    "phases": (
        (1, 4, 8, 8),
        (4, 2, 70_000, 3),
        {"strides": [100_000, 1], "pads": [0] * 4},
        "no more",
    ),
}


@pytest.mark.parametrize(("image", "weights", "attributes", "expected"), WRONG.values(), ids=WRONG)
def test_wrong(
    image: tuple[int, ...], weights: tuple[int, ...], attributes: Attributes, expected: str
) -> None:
    with pytest.raises(InputError, match=r"node 'n' \(ConvTranspose\)") as caught:
        parse_onnx(transposed(image, weights, attributes))
    assert expected in caught.value.expected


@pytest.mark.parametrize("added", [(0, 0), (1, 1)])
def test_same_padding_makes_as_many_outputs_whatever_is_added(added: tuple[int, int]) -> None:
    """The onnx package infers 7 x 7 for the second, which no runtime makes."""
    attributes: dict[str, Attribute] = {
        "strides": (2, 2),
        "auto_pad": "SAME_UPPER",
        "output_padding": added,
    }
    found = parse_onnx(one("ConvTranspose", {"x": (1, 2, 3, 3)}, {"w": (2, 1, 3, 3)}, attributes))
    assert found.nodes[-1].outputs[0].sizes == (1, 1, 6, 6)
