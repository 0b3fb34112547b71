"""Converts Conv nodes and similar operators with one, two or three spatial axes to layers.

``X`` is the last axis of the tensors (width), ``Y`` the second to last (height), ``Z`` the third to
last (depth). A convolution along one axis is a two-dimensional one of height 1.
(ZigZag swaps X and Y for kernels, strides, dilations and paddings, but not for the axes of tensors:
its layers differ if height and width differ.)
"""

from collections.abc import Iterator, Mapping
from typing import Final

from nestmap.model.base import copy_with
from nestmap.model.workload.graph import Node
from nestmap.model.workload.loop_nests import (
    Axis,
    Channels,
    convolution,
    gathered_convolution,
    with_channels_last,
)
from nestmap.pipeline.frontend.onnx.load.opsets import (
    BLOCKED,
    CHANNELS_LAST,
    LARGEST_BLOCK,
    MICROSOFT,
)
from nestmap.pipeline.frontend.onnx.load.shapes import Sizes, TypedNode, shape_text
from nestmap.pipeline.frontend.onnx.node import node_expansion as expansion
from nestmap.pipeline.frontend.onnx.node.reader import NodeReader
from nestmap.pipeline.frontend.onnx.operators import checks
from nestmap.pipeline.frontend.onnx.operators import output_shapes as shapes
from nestmap.pipeline.frontend.onnx.operators.axis_reads import sample_nest
from nestmap.pipeline.frontend.onnx.operators.operand_routes import concat_routes
from nestmap.pipeline.frontend.onnx.operators.output_shapes import ElementSource
from nestmap.pipeline.frontend.onnx.operators.record import Layers, Operator

_AUTO_PADS: Final = ("NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID")

# A bilinear sample: four products, three sums. Its four weights: two differences, four products.
_SAMPLE: Final = 13


def _conv(node: NodeReader) -> tuple[Node, ...]:
    """Converts a Conv, ConvInteger or FusedConv node, whose first inputs are image and weights."""
    return _converted(node, 1, channels_last=False)


def _conv_channels_last(node: NodeReader) -> tuple[Node, ...]:
    """Converts a Conv node of ONNX Runtime whose image has its channels on the last axis."""
    return _converted(node, 1, channels_last=True)


def _qlinear_conv(node: NodeReader) -> tuple[Node, ...]:
    """Converts a QLinearConv node, whose final outputs are quantized."""
    internal = node.node.operator == f"{CHANNELS_LAST}.QLinearConv"
    return _converted(node, 3, channels_last=internal or node.flag("channels_last"))


def _converted(node: NodeReader, weight: int, *, channels_last: bool) -> tuple[Node, ...]:
    image = node.sizes(0)
    if channels_last:
        image = (*image[:1], *image[-1:], *image[1:-1])
    channels, axes = _geometry(node, image, node.sizes(weight), channels_last=channels_last)
    nest = convolution(_two_axes(axes), channels)
    if channels_last:
        nest = with_channels_last(nest, max(2, len(axes)))
    values = {"W": expansion.value(node, weight), "I": expansion.value(node, 0)}
    return expansion.single_layer(node, nest, values)


def _causal_conv(node: NodeReader) -> tuple[Node, ...]:
    """Converts a CausalConvWithState node, a depthwise convolution over state and input joined."""
    image, weight = node.sizes(0), node.sizes(1)
    if len(image) != 3 or weight[:2] != (image[1], 1) or len(weight) != 3:
        found = f"input {shape_text(image)} and weights {shape_text(weight)}"
        raise node.error(found, "[batch, channels, length] and [channels, 1, kernel]")
    node.check_output(image)
    length, kernel = image[2], weight[2]
    channels = Channels(batch=image[0], groups=image[1], outputs=1, inputs=1)
    weights, read = expansion.value(node, 1), expansion.value(node, 0)
    if not node.has(3):
        axis = Axis(letter="X", input=length, kernel=kernel, padding=(kernel - 1, 0))
        return expansion.single_layer(
            node, convolution(_two_axes((axis,)), channels), {"W": weights, "I": read}
        )
    axis = Axis(letter="X", input=length + kernel - 1, kernel=kernel)
    whole = expansion.intermediate(node, "past", (*image[:2], axis.input), read.tensor.precision)
    both = expansion.value(node, 3), read
    routes = concat_routes(2, [each.tensor.sizes for each in both])
    joint = expansion.movement_part(node, "Concat", both, whole, routes)
    nest = convolution(_two_axes((axis,)), channels)
    return joint, expansion.layer_node(node, nest, {"W": weights, "I": whole})


def _deform_conv(node: NodeReader) -> tuple[Node, ...]:
    """Converts a DeformConv node: the weights are multiplied with bilinear samples of the image.

    There is one sample for each output position and kernel element, so unlike in a Conv no input is
    read twice. The vector unit computes the samples.
    """
    image = node.sizes(0)
    if len(image) != 4:
        raise node.error(f"an input of shape {shape_text(image)}", "two spatial axes")
    channels, axes = _geometry(node, image, node.sizes(1))
    sizes = (*image[:2], *(a.kernel for a in axes), *(a.output_size for a in axes))
    samples = expansion.intermediate(node, "samples", sizes, node.tensor(0).precision)
    masked = node.has(4)
    read = [expansion.value(node, position) for position in ((0, 2, 4) if masked else (0, 2))]
    reads = sample_nest(sizes, len(read))
    work = expansion.vector_part(node, "Sample", (sizes, _SAMPLE + masked), read, samples, reads)
    nest = gathered_convolution(axes, channels)
    return work, expansion.layer_node(node, nest, {"W": expansion.value(node, 1), "I": samples})


def channels_of(node: NodeReader, image: Sizes, weight: Sizes) -> int:
    """The number of groups of a convolution.

    Raises:
        InputError: if there are not one to three spatial axes, or the tensors differ in rank.
    """
    if len(image) not in (3, 4, 5):
        raise node.error(f"an input of shape {shape_text(image)}", "one, two or three spatial axes")
    if len(weight) != len(image):
        raise node.error(
            f"input {shape_text(image)} and weights {shape_text(weight)}",
            "the same number of axes in both",
        )
    return node.integer("group", 1)


def check_kernel(node: NodeReader, kernel: Sizes) -> None:
    """Compares the attribute ``kernel_shape`` with the weights.

    Raises:
        InputError: if they differ.
    """
    stated = node.integers("kernel_shape", kernel)
    if stated != kernel:
        raise node.error(
            f"kernel_shape {shape_text(stated)}", f"{shape_text(kernel)}, as in the weights"
        )


def auto_pad_of(node: NodeReader, pads: Sizes) -> str:
    """The attribute ``auto_pad``.

    Raises:
        InputError: if its value is unknown, or paddings are stated as well.
    """
    auto_pad = node.text("auto_pad", "NOTSET")
    if auto_pad not in _AUTO_PADS:
        raise node.error(f"auto_pad {auto_pad!r}", f"one of {', '.join(_AUTO_PADS)}")
    if auto_pad != "NOTSET" and any(pads):
        raise node.error(f"auto_pad {auto_pad} and pads {list(pads)}", "only one of the two")
    return auto_pad


def _geometry(
    node: NodeReader, image: Sizes, weight: Sizes, *, channels_last: bool = False
) -> tuple[Channels, tuple[Axis, ...]]:
    groups = channels_of(node, image, weight)
    if weight[0] % groups:
        raise node.error(f"{weight[0]} output channels in {groups} groups", "equal groups")
    axes = _axes(node, image[2:], weight[2:])
    made = tuple(axis.output_size for axis in axes)
    node.check_output(
        (image[0], *made, weight[0]) if channels_last else (*image[:1], weight[0], *made)
    )
    channels = Channels(
        batch=image[0], groups=groups, outputs=weight[0] // groups, inputs=weight[1]
    )
    if node.node.operator == f"{BLOCKED}.Conv":
        channels = _without_padding(channels, image[1])
    if channels.inputs * channels.groups != image[1]:
        raise node.error(
            f"{image[1]} input channels, weights {shape_text(weight)} and {groups} groups",
            f"{weight[1]} x {groups} input channels",
        )
    return channels, axes


def _without_padding(stored: Channels, inputs: int) -> Channels:
    """The channels of an image in blocks whose last block the weights fill with zeros."""
    missing = stored.groups * stored.inputs - inputs
    if not 0 < missing < LARGEST_BLOCK:
        return stored
    if stored.groups == 1:
        return copy_with(stored, {"inputs": inputs})
    depthwise = stored.inputs == stored.outputs == 1
    return copy_with(stored, {"groups": inputs}) if depthwise else stored


def _two_axes(axes: tuple[Axis, ...]) -> tuple[Axis, ...]:
    return axes if len(axes) > 1 else (Axis(letter="Y", input=1), *axes)


def _axes(node: NodeReader, image: Sizes, kernel: Sizes) -> tuple[Axis, ...]:
    """The spatial axes in the order of the tensors: depth, height, width."""
    check_kernel(node, kernel)
    count = len(image)
    ones, zeros = (1,) * count, (0,) * 2 * count
    strides, dilations = node.integers("strides", ones), node.integers("dilations", ones)
    pads = node.integers("pads", zeros, least=0)
    padding = zip(pads[:count], pads[count:], strict=True)
    given = [
        Axis(letter=letter, input=size, kernel=k, stride=s, dilation=d, padding=pad)
        for letter, size, k, s, d, pad in zip(
            "ZYX"[-count:], image, kernel, strides, dilations, padding, strict=True
        )
    ]
    auto_pad = auto_pad_of(node, pads)
    axes = tuple(_auto_padded(axis, auto_pad) for axis in given)
    for axis in axes:
        if axis.output_size < 1:
            raise node.error(
                f"a kernel that reaches over {axis.span} of {axis.input} + {sum(axis.padding)} "
                f"elements (axis {axis.letter})",
                "a kernel within the padded input",
            )
    return axes


def _auto_padded(axis: Axis, auto_pad: str) -> Axis:
    """The axis, padded as ``auto_pad`` says: SAME_* gives an output for every stride."""
    if not auto_pad.startswith("SAME"):
        return axis
    positions = -(-axis.input // axis.stride)
    missing = max(0, (positions - 1) * axis.stride + axis.span - axis.input)
    less, more = missing // 2, missing - missing // 2
    padding = (less, more) if auto_pad == "SAME_UPPER" else (more, less)
    return copy_with(axis, {"padding": padding})


def _image_shape(weight: int) -> shapes.ShapeRule:
    """A convolution; ``weight`` is the position of the weights."""

    def rule(node: TypedNode) -> Iterator[shapes.ShapeSurrogate]:
        kernels = node.axes(weight)
        matches = 2 < len(kernels) == len(node.axes(0))
        if matches and isinstance(kernels[1], int):
            channels = kernels[1] * node.integer("group", 1)
            yield from shapes.on_image(node, "Conv", (channels, kernels))

    return rule


_BIAS: Final = "a bias"
_FLOATS: Final = (checks.numbers(0, 1), checks.one_axis(2, _BIAS, checks.extent(1, 0)))
_QUANTIZED: Final = Operator(Layers(_qlinear_conv), _image_shape(3), ElementSource(7))

CONVOLUTIONS: Final[Mapping[str, Operator]] = {
    "Conv": Operator(Layers(_conv), checks=_FLOATS),
    "ConvInteger": Operator(Layers(_conv), checks=(checks.numbers(0, 1),)),
    "QLinearConv": Operator(
        Layers(_qlinear_conv),
        checks=(checks.numbers(0, 3), checks.one_axis(8, _BIAS, checks.extent(3, 0))),
    ),
    "DeformConv": Operator(
        Layers(_deform_conv),
        checks=(checks.numbers(0, 1), checks.one_axis(3, _BIAS, checks.extent(1, 0))),
    ),
    **dict.fromkeys(
        ("CausalConvWithState", f"{MICROSOFT}.CausalConvWithState"), Operator(Layers(_causal_conv))
    ),
    f"{MICROSOFT}.FusedConv": Operator(Layers(_conv), shapes.like("Conv", 0, 1), checks=_FLOATS),
    f"{MICROSOFT}.NhwcFusedConv": Operator(Layers(_conv_channels_last), _image_shape(1)),
    f"{MICROSOFT}.QLinearConv": _QUANTIZED,
    f"{BLOCKED}.Conv": Operator(Layers(_conv), _image_shape(1)),
    f"{CHANNELS_LAST}.Conv": Operator(Layers(_conv_channels_last), _image_shape(1)),
    f"{CHANNELS_LAST}.QLinearConv": _QUANTIZED,
}
"""The convolutions, apart from transposed ones."""
