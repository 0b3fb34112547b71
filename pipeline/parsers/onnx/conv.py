"""Layers of Conv nodes: convolutions with one, two or three spatial axes.

``O[b][g][k][oy][ox] += W[g][k][c][fy][fx] * I[b][g][c][iy][ix]`` with ``K`` and ``C`` counted per
group ``G``. ``X`` is the last axis of the tensors (width), ``Y`` the one before it (height), ``Z``
that before (depth). A convolution along one axis is one along two whose height is 1.
(ZigZag calls kernels, strides, dilations and paddings of the height X and those of the width Y,
but not the tensors' axes: where height and width differ, its layers do.)
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import final

from nestmap.model import AffineIndex, Layer, Loop, Term
from nestmap.pipeline.parsers.onnx.reader import NodeReader, plain_indices
from nestmap.pipeline.parsers.onnx.shapes import Sizes, text

_AUTO_PADS = ("NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID")


@final
@dataclass(frozen=True)
class Axis:
    """One spatial axis: sizes of input and kernel, steps, and elements padded on both sides."""

    letter: str
    input: int
    kernel: int = 1
    stride: int = 1
    dilation: int = 1
    padding: tuple[int, int] = (0, 0)

    @property
    def reach(self) -> int:
        """Input elements from the first to the last that the kernel touches at once."""
        return self.dilation * (self.kernel - 1) + 1

    @property
    def output(self) -> int:
        """Positions of the kernel."""
        return (self.input + sum(self.padding) - self.reach) // self.stride + 1

    @property
    def index(self) -> AffineIndex:
        """Where the loops over output positions and kernel elements read the input."""
        return AffineIndex(
            name=f"I{self.letter}",
            terms=(
                Term(dimension=f"O{self.letter}", coefficient=self.stride),
                Term(dimension=f"F{self.letter}", coefficient=self.dilation),
            ),
            size=self.input,
            padding=self.padding,
        )


@final
@dataclass(frozen=True)
class _Channels:
    """Batch, groups, and the channels of one group."""

    batch: int
    groups: int
    outputs: int
    inputs: int


def conv_layer(node: NodeReader) -> Layer:
    """The layer of a Conv node.

    Raises:
        InputError: where shapes or attributes do not fit.
    """
    image, weight = node.sizes(0), node.sizes(1)
    if len(image) not in (3, 4, 5):
        raise node.error(f"an input of shape {text(image)}", "one, two or three spatial axes")
    if len(weight) != len(image):
        raise node.error(f"input {text(image)} and weights {text(weight)}", "as many axes in both")
    channels = _channels(node, image, weight)
    axes = _axes(node, image[2:], weight[2:])
    node.check_output((image[0], weight[0], *(axis.output for axis in axes)))
    if len(axes) == 1:
        axes = (Axis("Y", 1), *axes)
    return _layer(node, axes, channels)


def _channels(node: NodeReader, image: Sizes, weight: Sizes) -> _Channels:
    groups = node.integer("group", 1)
    if weight[0] % groups:
        raise node.error(f"{weight[0]} output channels in {groups} groups", "equal groups")
    if weight[1] * groups != image[1]:
        raise node.error(
            f"{image[1]} input channels, weights {text(weight)} and {groups} groups",
            f"{weight[1]} x {groups} input channels",
        )
    return _Channels(image[0], groups, weight[0] // groups, weight[1])


def _axes(node: NodeReader, image: Sizes, kernel: Sizes) -> tuple[Axis, ...]:
    """The spatial axes in the order of the tensors: depth, height, width."""
    stated = node.integers("kernel_shape", kernel)
    if stated != kernel:
        raise node.error(f"kernel_shape {text(stated)}", f"{text(kernel)}, as in the weights")
    count = len(image)
    ones, zeros = (1,) * count, (0,) * 2 * count
    strides, dilations = node.integers("strides", ones), node.integers("dilations", ones)
    pads = node.integers("pads", zeros, least=0)
    padding = zip(pads[:count], pads[count:], strict=True)
    parts = zip("ZYX"[-count:], image, kernel, strides, dilations, padding, strict=True)
    auto_pad = _auto_pad(node, pads)
    axes = tuple(_auto_padded(Axis(*part), auto_pad) for part in parts)
    for axis in axes:
        if axis.output < 1:
            raise node.error(
                f"a kernel that reaches over {axis.reach} of {axis.input} + {sum(axis.padding)} "
                f"elements (axis {axis.letter})",
                "a kernel within the padded input",
            )
    return axes


def _auto_pad(node: NodeReader, pads: Sizes) -> str:
    auto_pad = node.text("auto_pad", "NOTSET")
    if auto_pad not in _AUTO_PADS:
        raise node.error(f"auto_pad {auto_pad!r}", f"one of {', '.join(_AUTO_PADS)}")
    if auto_pad != "NOTSET" and any(pads):
        raise node.error(f"auto_pad {auto_pad} and pads {list(pads)}", "only one of the two")
    return auto_pad


def _auto_padded(axis: Axis, auto_pad: str) -> Axis:
    """The axis; SAME_* pads it until there is an output for every stride."""
    if not auto_pad.startswith("SAME"):
        return axis
    positions = -(-axis.input // axis.stride)
    missing = max(0, (positions - 1) * axis.stride + axis.reach - axis.input)
    less, more = missing // 2, missing - missing // 2
    return replace(axis, padding=(less, more) if auto_pad == "SAME_UPPER" else (more, less))


def _layer(node: NodeReader, axes: tuple[Axis, ...], channels: _Channels) -> Layer:
    outputs = {f"O{axis.letter}": axis.output for axis in axes}
    kernels = {f"F{axis.letter}": axis.kernel for axis in axes}
    outer = {"B": channels.batch, "K": channels.outputs, "G": channels.groups}
    loops = [*outer.items(), *reversed(outputs.items()), ("C", channels.inputs)]
    loops.extend(reversed(kernels.items()))
    return Layer(
        name=node.node.name,
        operator=node.node.operator,
        loops=tuple(Loop(dimension=name, size=size) for name, size in loops),
        output=node.output_operand(plain_indices("B", "G", "K", *outputs)),
        inputs=(
            node.input_operand("W", 1, plain_indices("G", "K", "C", *kernels)),
            node.input_operand(
                "I", 0, (*plain_indices("B", "G", "C"), *(axis.index for axis in axes))
            ),
        ),
    )
