"""Builders for convolutions, from the shapes of image and weights as in ONNX and PyTorch."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

from nestmap.model.workload.builders.operands import (
    EIGHT_BIT,
    LayerDraft,
    Precision,
    Shape,
    Source,
    format_sizes,
)
from nestmap.model.workload.layer import Layer
from nestmap.model.workload.loop_nests import Axis, Channels, convolution

PerAxis = int | Sequence[int]
"""One number for each spatial axis, or one for all."""

_AXES = ("depth", "height", "width")


@final
@dataclass(frozen=True)
class _Window:
    stride: PerAxis
    padding: PerAxis
    dilation: PerAxis
    groups: int


def conv1d(  # noqa: PLR0913 (a convolution has this many parts; all but three have defaults)
    name: str,
    image: Shape,
    weights: Shape,
    *,
    stride: PerAxis = 1,
    padding: PerAxis = 0,
    dilation: PerAxis = 1,
    groups: int = 1,
    source: Source = None,
    precision: Precision = EIGHT_BIT,
) -> Layer:
    """A convolution along one axis; see :func:`conv2d`.

    >>> conv1d("c", (1, 80, 3000), (512, 80, 3), padding=1).macs
    368640000
    """
    draft = LayerDraft("conv1d", name, "Conv", precision)
    window = _Window(stride, padding, dilation, groups)
    return _convolution(draft, 1, (image, weights), window, source)


def conv2d(  # noqa: PLR0913 (a convolution has this many parts; all but three have defaults)
    name: str,
    image: Shape,
    weights: Shape,
    *,
    stride: PerAxis = 1,
    padding: PerAxis = 0,
    dilation: PerAxis = 1,
    groups: int = 1,
    source: Source = None,
    precision: Precision = EIGHT_BIT,
) -> Layer:
    """A convolution along height and width.

    >>> c1 = conv2d("c1", (1, 3, 224, 224), (64, 3, 7, 7), stride=2, padding=3)
    >>> c1.macs, c1.sizes["OX"], c1.elements("W")
    (118013952, 112, 9408)
    >>> depthwise = conv2d("dw", (1, 32, 112, 112), (32, 1, 3, 3), padding=1, groups=32)
    >>> depthwise.macs
    3612672

    Args:
        name: how the layer is called in the network and in results.
        image: batch, channels, height, width.
        weights: output channels, input channels of one group, height, width.
        stride: steps of the kernel along each axis.
        padding: elements added before and after each axis.
        dilation: steps between the elements of the kernel.
        groups: groups of channels; as many as channels: depthwise.
        source: the layer or node that makes the image; ``None``: it comes from outside.
        precision: bits of an element.

    Raises:
        InputError: where the parts do not go together.
    """
    draft = LayerDraft("conv2d", name, "Conv", precision)
    window = _Window(stride, padding, dilation, groups)
    return _convolution(draft, 2, (image, weights), window, source)


def conv3d(  # noqa: PLR0913 (a convolution has this many parts; all but three have defaults)
    name: str,
    image: Shape,
    weights: Shape,
    *,
    stride: PerAxis = 1,
    padding: PerAxis = 0,
    dilation: PerAxis = 1,
    groups: int = 1,
    source: Source = None,
    precision: Precision = EIGHT_BIT,
) -> Layer:
    """A convolution along depth, height and width; see :func:`conv2d`.

    >>> conv3d("c", (1, 3, 16, 112, 112), (64, 3, 3, 3, 3), padding=1).macs
    1040449536
    """
    draft = LayerDraft("conv3d", name, "Conv", precision)
    window = _Window(stride, padding, dilation, groups)
    return _convolution(draft, 3, (image, weights), window, source)


def _convolution(
    draft: LayerDraft, rank: int, shapes: tuple[Shape, Shape], window: _Window, source: Source
) -> Layer:
    names = _AXES[-rank:]
    image = draft.check_axes("image", shapes[0], ("batch", "channels", *names))
    weights = draft.check_axes("weights", shapes[1], ("outputs", "inputs of a group", *names))
    axes = _axes(draft, image[2:], weights[2:], window)
    if rank == 1:
        axes = (Axis(letter="Y", input=1), *axes)
    channels = _channels(draft, image, weights, window.groups)
    return draft.layer(convolution(axes, channels), {"I": source}, constant="W")


def _channels(draft: LayerDraft, image: Shape, weights: Shape, groups: int) -> Channels:
    draft.check_sizes("groups", (groups,), 1)
    if weights[0] % groups:
        raise draft.error(f"{weights[0]} output channels in {groups} groups", "equal groups")
    if weights[1] * groups != image[1]:
        raise draft.error(
            f"{image[1]} input channels, weights {format_sizes(weights)} and {groups} groups",
            f"{weights[1]} x {groups} input channels",
        )
    return Channels(batch=image[0], groups=groups, outputs=weights[0] // groups, inputs=weights[1])


def _axes(draft: LayerDraft, image: Shape, kernel: Shape, window: _Window) -> tuple[Axis, ...]:
    rank = len(image)
    strides = _per_axis(draft, "stride", window.stride, rank, least=1)
    dilations = _per_axis(draft, "dilation", window.dilation, rank, least=1)
    paddings = _per_axis(draft, "padding", window.padding, rank, least=0)
    axes = tuple(
        Axis(letter=letter, input=size, kernel=k, stride=s, dilation=d, padding=(p, p))
        for letter, size, k, s, d, p in zip(
            "ZYX"[-rank:], image, kernel, strides, dilations, paddings, strict=True
        )
    )
    for axis in axes:
        if axis.output_size < 1:
            raise draft.error(
                f"a kernel that spans {axis.span} of {axis.input} + {sum(axis.padding)} "
                f"elements (axis {axis.letter})",
                "a kernel within the padded image",
            )
    return axes


def _per_axis(
    draft: LayerDraft, what: str, given: PerAxis, rank: int, *, least: int
) -> tuple[int, ...]:
    if not isinstance(given, Sequence):
        return draft.check_sizes(what, (given,), least) * rank
    if len(given) != rank:
        raise draft.error(
            f"{what} {format_sizes(given)}", f"one number, or one for each of {rank} axes"
        )
    return draft.check_sizes(what, given, least)
