"""Conv nodes and those like them: dimensions by hand, output sizes against onnx's inference."""

from dataclasses import dataclass, field
from typing import final

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from nestmap.model import InputError, VectorNode
from nestmap.pipeline.frontend.onnx import parse_onnx
from tests.pipeline.frontend.onnx.build import Attribute, inferred_output, layer_of, one
from tests.pipeline.frontend.onnx.written import written


@final
@dataclass(frozen=True)
class Case:
    """A Conv and what it must become."""

    image: tuple[int, ...]
    kernel: tuple[int, ...]
    sizes: str
    macs: int
    touched: int
    attributes: dict[str, Attribute] = field(default_factory=dict[str, Attribute])


SQUARE = [3, 3]
CASES = {
    "plain": Case(
        (1, 8, 14, 14), (16, 8, 3, 3), "B1 K16 G1 OX12 OY12 C8 FX3 FY3", 165888, 8 * 14 * 14
    ),
    "batch and channels": Case(
        (5, 8, 14, 14), (16, 8, 1, 1), "B5 K16 G1 OX14 OY14 C8 FX1 FY1", 125440, 5 * 8 * 14 * 14
    ),
    "padding": Case(
        (1, 3, 224, 224),
        (64, 3, 7, 7),
        "B1 K64 G1 OX112 OY112 C3 FX7 FY7",
        118013952,
        3 * 224 * 224,
        {"pads": [3, 3, 3, 3], "strides": [2, 2], "kernel_shape": [7, 7]},
    ),
    "groups": Case(
        (1, 8, 6, 6), (6, 4, 3, 3), "B1 K3 G2 OX4 OY4 C4 FX3 FY3", 3456, 288, {"group": 2}
    ),
    "depthwise": Case(
        (1, 8, 6, 6), (8, 1, 3, 3), "B1 K1 G8 OX4 OY4 C1 FX3 FY3", 1152, 288, {"group": 8}
    ),
    "stride beyond the kernel": Case(
        (1, 2, 9, 9), (2, 2, 1, 1), "B1 K2 G1 OX3 OY3 C2 FX1 FY1", 36, 18, {"strides": [3, 3]}
    ),
    "dilation": Case(
        (1, 8, 14, 14),
        (16, 8, 3, 3),
        "B1 K16 G1 OX10 OY10 C8 FX3 FY3",
        115200,
        8 * 14 * 14,
        {"dilations": [2, 2]},
    ),
    # Height 10 and width 20, kernel 3 high and 5 wide, two rows and one column a step.
    "height and width differ": Case(
        (1, 2, 10, 20),
        (4, 2, 3, 5),
        "B1 K4 G1 OX16 OY4 C2 FX5 FY3",
        7680,
        2 * 9 * 20,
        {"kernel_shape": [3, 5], "strides": [2, 1]},
    ),
    "one axis": Case(
        (1, 4, 10), (6, 4, 3), "B1 K6 G1 OX8 OY1 C4 FX3 FY1", 576, 40, {"kernel_shape": [3]}
    ),
    "three axes": Case(
        (1, 2, 5, 6, 7), (3, 2, 1, 2, 3), "B1 K3 G1 OX5 OY5 OZ5 C2 FX3 FY2 FZ1", 4500, 2 * 5 * 6 * 7
    ),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_sizes_and_macs(case: Case) -> None:
    layer = layer_of(one("Conv", {"x": case.image}, {"w": case.kernel}, case.attributes))
    assert " ".join(f"{loop.dimension}{loop.size}" for loop in layer.loops) == case.sizes
    assert layer.macs == case.macs
    assert layer.elements("I") == case.touched
    weights = 1
    for size in case.kernel:
        weights *= size
    assert layer.elements("W") == weights
    assert layer.operator == "Conv"


def test_equation() -> None:
    attributes: dict[str, Attribute] = {"strides": [2, 3], "dilations": [1, 2]}
    layer = layer_of(one("Conv", {"x": (1, 8, 20, 20)}, {"w": (4, 8, 3, 3)}, attributes))
    assert layer.equation == (
        "O[b][g][k][oy][ox] += W[g][k][c][fy][fx] * I[b][g][c][2*oy+fy][3*ox+2*fx]"
    )


def test_a_bias_changes_nothing() -> None:
    bare = one("Conv", {"x": (1, 8, 6, 6)}, {"w": (4, 8, 3, 3)})
    biased = one("Conv", {"x": (1, 8, 6, 6)}, {"w": (4, 8, 3, 3), "b": (4,)})
    assert layer_of(bare) == layer_of(biased)


PADDINGS: dict[str, tuple[dict[str, Attribute], str]] = {
    "explicit": ({"pads": [1, 2, 3, 4]}, "IY 14 (1, 3) OY16, IX 14 (2, 4) OX18"),
    "none": ({}, "IY 14 (0, 0) OY12, IX 14 (0, 0) OX12"),
    "NOTSET": ({"auto_pad": "NOTSET"}, "IY 14 (0, 0) OY12, IX 14 (0, 0) OX12"),
    "VALID": ({"auto_pad": "VALID"}, "IY 14 (0, 0) OY12, IX 14 (0, 0) OX12"),
    "SAME": ({"auto_pad": "SAME_UPPER"}, "IY 14 (1, 1) OY14, IX 14 (1, 1) OX14"),
    "SAME_UPPER": (
        {"auto_pad": "SAME_UPPER", "strides": [2, 2]},
        "IY 14 (0, 1) OY7, IX 14 (0, 1) OX7",
    ),
    "SAME_LOWER": (
        {"auto_pad": "SAME_LOWER", "strides": [2, 2]},
        "IY 14 (1, 0) OY7, IX 14 (1, 0) OX7",
    ),
}


@pytest.mark.parametrize(("attributes", "expected"), PADDINGS.values(), ids=PADDINGS)
def test_padding(attributes: dict[str, Attribute], expected: str) -> None:
    layer = layer_of(one("Conv", {"x": (1, 2, 14, 14)}, {"w": (2, 2, 3, 3)}, attributes))
    indices = layer.operand("I").indices[-2:]
    found = (
        f"{index.name} {index.size} {index.padding} {output}{layer.sizes[output]}"
        for index, output in zip(indices, ("OY", "OX"), strict=True)
    )
    assert ", ".join(found) == expected


@final
@dataclass(frozen=True)
class Geometry:
    """The spatial side of a Conv, axis by axis, and whether the kernel fits into the image."""

    image: list[int]
    kernel: list[int]
    attributes: dict[str, Attribute]
    fits: bool


@st.composite
def geometries(draw: st.DrawFn) -> Geometry:
    """One to three axes with all that ONNX lets one say about them."""
    count = draw(st.integers(1, 3))

    def each(low: int, high: int, axes: int = count) -> list[int]:
        return draw(st.lists(st.integers(low, high), min_size=axes, max_size=axes))

    image, kernel = each(1, 30), each(1, 5)
    attributes: dict[str, Attribute] = {}
    if draw(st.booleans()):
        attributes["kernel_shape"] = kernel
    if draw(st.booleans()):
        attributes["strides"] = each(1, 4)
    dilations = each(1, 3)
    if draw(st.booleans()):
        attributes["dilations"] = dilations
    else:
        dilations = [1] * count
    auto_pad = draw(st.sampled_from(["", "NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER"]))
    if auto_pad:
        attributes["auto_pad"] = auto_pad
    pads = [0] * 2 * count
    if auto_pad in ("", "NOTSET") and draw(st.booleans()):
        attributes["pads"] = pads = each(0, 4, 2 * count)
    fits = auto_pad.startswith("SAME") or all(
        (kernel[i] - 1) * dilations[i] < image[i] + pads[i] + pads[count + i] for i in range(count)
    )
    return Geometry(image, kernel, attributes, fits)


@settings(deadline=None)
@given(geometries(), st.integers(1, 3), st.integers(1, 3), st.integers(1, 3))
@example(Geometry([2, 9], [5, 1], {"pads": [1, 0, 2, 0]}, fits=True), 1, 1, 1)
def test_output_sizes_are_those_that_onnx_infers(
    geometry: Geometry, groups: int, outputs: int, inputs: int
) -> None:
    image, kernel = geometry.image, geometry.kernel
    model = one(
        "Conv",
        {"x": [2, groups * inputs, *image]},
        {"w": [groups * outputs, inputs, *kernel]},
        geometry.attributes | {"group": groups},
    )
    # (Where it does not fit, onnx may still infer an output: it divides negative numbers upwards.)
    if not geometry.fits:
        with pytest.raises(InputError, match="within the padded input"):
            layer_of(model)
        return
    layer = layer_of(model)
    sizes = layer.sizes
    spatial = [sizes[f"O{letter}"] for letter in "ZYX"[-len(image) :]]
    assert (sizes["B"], sizes["G"] * sizes["K"], *spatial) == inferred_output(model)
    for index in layer.operand("I").indices[3:]:
        last = sum(t.coefficient * (sizes[t.dimension] - 1) for t in index.terms)
        assert index.size is not None
        assert last < index.size + sum(index.padding)


def test_deformable_convolution() -> None:
    """Each output and kernel element has a sample of its own, so none is read twice."""
    workload = parse_onnx(
        written(
            "float[1,8,10,10] x, float[16,4,3,3] w, float[1,36,8,8] d, float[1,18,8,8] m",
            "y = DeformConv <offset_group = 2, group = 2> (x, w, d, , m)",
        )
    )
    samples, last = workload.nodes
    assert isinstance(samples, VectorNode)
    assert samples.iterations == (1, 8, 3, 3, 8, 8)
    assert [tensor.name for tensor in samples.inputs] == ["x", "d", "m"]
    (layer,) = workload.layers
    assert layer.equation == (
        "O[b][g][k][oy][ox] += W[g][k][c][fy][fx] * I[b][g][c][fy][fx][oy][ox]"
    )
    assert layer.macs == 16 * 8 * 8 * 4 * 3 * 3
    assert layer.elements("I") == samples.outputs[0].elements
    assert last.sources == (samples.name,)


@pytest.mark.parametrize("state", [True, False])
def test_causal_convolution(state: bool) -> None:
    given = ", float[2,6,3] p" if state else ""
    read = "x, w, , p" if state else "x, w"
    workload = parse_onnx(
        written(
            f"float[2,6,10] x, float[6,1,4] w{given}",
            f"y, z = CausalConvWithState ({read})",
            outputs="y, z",
            opset=27,
        )
    )
    (layer,) = workload.layers
    assert layer.macs == 2 * 6 * 10 * 4
    assert layer.sizes["G"] == 6
    index = layer.operand("I").indices[-1]
    assert (index.size, index.padding) == ((13, (0, 0)) if state else (10, (3, 0)))
    assert len(workload.nodes) == 1 + state
