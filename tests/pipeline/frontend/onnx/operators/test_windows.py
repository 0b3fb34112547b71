"""Nests of windows: what each element of the output reads, exactly, found out by pixels alone."""

from dataclasses import dataclass
from itertools import product
from typing import final

import numpy as np
import onnx
from hypothesis import assume, given
from hypothesis import strategies as st
from onnx import helper

from nestmap.model import VectorNode
from nestmap.pipeline.frontend.onnx import parse_onnx
from tests.pipeline.frontend.onnx.build import FLOAT
from tests.pipeline.frontend.onnx.operators.regions import Index, Mask, needed
from tests.pipeline.frontend.onnx.running import Runner


@final
@dataclass(frozen=True)
class Window:
    """A pooling of an image with one channel."""

    operator: str
    image: Index
    attributes: dict[str, list[int] | int | str]

    def model(self, batch: int) -> onnx.ModelProto:
        """It, for so many images."""
        node = helper.make_node(self.operator, ["x"], ["y"], **self.attributes)  # type: ignore[arg-type]
        x = helper.make_tensor_value_info("x", FLOAT, [batch, 1, *self.image])
        y = helper.make_tensor_value_info("y", FLOAT, None)
        graph = helper.make_graph([node], "net", [x], [y])
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22)])


@st.composite
def windows(draw: st.DrawFn) -> Window:
    """Poolings along one or two axes."""
    operator = draw(st.sampled_from(("MaxPool", "AveragePool", "LpPool")))
    count = draw(st.integers(1, 2))

    def some(least: int, most: int) -> list[int]:
        return [draw(st.integers(least, most)) for _ in range(count)]

    kernel, dilations = some(1, 3), some(1, 2)
    reach = [step * (size - 1) + 1 for size, step in zip(kernel, dilations, strict=True)]
    attributes: dict[str, list[int] | int | str] = {
        "kernel_shape": kernel,
        "strides": some(1, 3),
        "dilations": dilations,
    }
    # onnx's own MaxPool takes the padding before an axis for that behind it; its other poolings
    # spread what ceil_mode adds over both sides
    symmetric = operator == "MaxPool"
    ways = ("NOTSET", "VALID") if symmetric else ("NOTSET", "SAME_UPPER", "SAME_LOWER")
    auto_pad = draw(st.sampled_from(ways))
    if auto_pad == "NOTSET":
        before, after = ([draw(st.integers(0, size - 1)) for size in kernel] for _ in "xx")
        attributes["pads"] = [*before, *(before if symmetric else after)]
        attributes["ceil_mode"] = draw(st.integers(0, int(symmetric)))
    else:  # onnx's own code forgets dilations, and crops where strides are larger than windows
        attributes |= {
            "auto_pad": auto_pad,
            "dilations": [1] * count,
            "strides": some(1, min(kernel)),
        }
    image = tuple(size + draw(st.integers(0, 4)) for size in reach)
    return Window(operator, image, attributes)


@final
@dataclass(frozen=True)
class Resampling:
    """A Resize of a matrix or an image with one channel by whole factors."""

    image: Index
    scales: tuple[float, ...]
    attributes: dict[str, int | str]

    def model(self, batch: int) -> onnx.ModelProto:
        """It, for so many images."""
        outer = [batch, 1][: len(self.image)]
        scales = (*(1.0 for _ in outer), *self.scales)
        stored = helper.make_tensor("s", FLOAT, [len(scales)], scales)
        node = helper.make_node("Resize", ["x", "", "s"], ["y"], **self.attributes)  # type: ignore[arg-type]
        x = helper.make_tensor_value_info("x", FLOAT, [*outer, *self.image])
        y = helper.make_tensor_value_info("y", FLOAT, None)
        graph = helper.make_graph([node], "net", [x], [y], [stored])
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22)])


@st.composite
def resamplings(draw: st.DrawFn) -> Resampling:
    """Of one or two axes, each larger, smaller or as it is."""
    image, scales = list[int](), list[float]()
    for _ in range(draw(st.integers(1, 2))):
        size, factor = draw(st.integers(1, 4)), draw(st.integers(1, 4))
        grows = draw(st.booleans()) or factor == 3  # a third is no floating-point number
        image.append(size if grows else size * factor)
        scales.append(float(factor) if grows else 1 / factor)
    ways = ("half_pixel", "asymmetric", "pytorch_half_pixel", "half_pixel_symmetric")
    rounding = ("floor", "ceil", "round_prefer_floor", "round_prefer_ceil")
    attributes: dict[str, int | str] = {
        "mode": draw(st.sampled_from(("nearest", "nearest", "linear", "cubic"))),
        "coordinate_transformation_mode": draw(st.sampled_from(ways)),
        "nearest_mode": draw(st.sampled_from(rounding)),
    }
    return Resampling((*image,), (*scales,), attributes)


@given(resamplings())
def test_whole_factors_need_no_whole_axes(given: Resampling) -> None:
    (node,) = parse_onnx(given.model(1)).nodes
    assert isinstance(node, VectorNode)
    assert node.nest is not None
    count = int(np.prod(given.image))
    sizes, output = node.inputs[0].sizes or (), node.outputs[0].sizes or ()
    pixels = np.eye(count, dtype=np.float32).reshape(count, *sizes[1:])
    (found,) = Runner(given.model(count))({"x": pixels})
    for index in product(*map(range, output)):
        mask, _ = needed(node.nest, index, [sizes, (len(sizes),)])
        seen = np.asarray([bool(abs(pixel[index[1:]]) > 1e-6) for pixel in found])
        assert not (seen & ~mask.ravel()).any()
    access = node.nest.inputs[0]
    assert access is not None
    assert None not in access.axes


def _read(window: Window, output: Index) -> Mask | None:
    """Which pixels (first axes) each element of the output depends on, from a run."""
    count = int(np.prod(window.image))
    pixels = np.eye(count, dtype=np.float32).reshape(count, 1, *window.image)
    try:
        (found,) = Runner(window.model(count))({"x": pixels})
    except (ValueError, IndexError, RuntimeError):
        return None  # onnx itself does not take all of them
    read: Mask = found.astype(np.float64) > 0
    return read if read.shape[2:] == output[2:] else None


@given(windows())
def test_windows_read_what_they_depend_on(window: Window) -> None:
    (node,) = parse_onnx(window.model(1)).nodes
    assume(isinstance(node, VectorNode))
    assert isinstance(node, VectorNode)
    assert node.nest is not None
    output = node.outputs[0].sizes or ()
    read = _read(window, output)
    assume(read is not None)
    assert read is not None
    for index in product(*map(range, output)):
        (mask,) = needed(node.nest, index, [(1, 1, *window.image)])
        seen = [bool(pixel[index[1:]]) for pixel in read]
        assert mask.ravel().tolist() == seen, (index, str(window))
