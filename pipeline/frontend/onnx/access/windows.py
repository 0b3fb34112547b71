"""Determines the reads of operators with sliding windows: pooling, resampling, LRN, STFT."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Final

from nestmap.model.workload.affine import AffineIndex, Term
from nestmap.pipeline.frontend.onnx.access.axis_reads import (
    Names,
    ReadRule,
    Reads,
    along,
    each,
    image_names,
    inner,
    names_of,
    row_names,
    window,
)
from nestmap.pipeline.frontend.onnx.access.resize import resize
from nestmap.pipeline.frontend.onnx.load.shapes import Sizes
from nestmap.pipeline.frontend.onnx.node.reader import NodeReader
from nestmap.pipeline.frontend.onnx.node.static_values import expect, integers_at, made, read

_NHWC: Final = "com.microsoft.NhwcMaxPool"


def _pool(reader: NodeReader) -> Reads:
    """Windows with strides and dilations; padding extends to the last window."""
    count = len(read(reader)) - 2
    ones = (1,) * count
    kernel = reader.integers("kernel_shape", ones)
    strides, dilations = reader.integers("strides", ones), reader.integers("dilations", ones)
    return _windows(reader, kernel, tuple(zip(strides, dilations, strict=True)))


def _global_pool(reader: NodeReader) -> Reads:
    """One window for each channel."""
    _, places = _places(reader)
    image = read(reader)
    kernel = tuple(image[place] for place in places)
    return _windows(reader, kernel, ((1, 1),) * len(kernel))


def _windows(reader: NodeReader, kernel: Sizes, steps: tuple[tuple[int, int], ...]) -> Reads:
    image, output = read(reader), made(reader)
    names, places = _places(reader)
    expect(reader, len(output) == len(image))
    reached = [
        (output[place] - 1) * stride + (elements - 1) * dilation + 1 - image[place]
        for place, elements, (stride, dilation) in zip(places, kernel, steps, strict=True)
    ]
    before = _before(reader, [max(0, over) for over in reached])
    axes = list(each(names))
    for place, elements, step, lead in zip(places, kernel, steps, before, strict=True):
        axes[place] = window(names[place], output[place], image[place], step, (elements, lead))
    windows = {inner(names[place]): size for place, size in zip(places, kernel, strict=True)}
    return Reads(names, {0: tuple(axes)}, dict(reversed(windows.items())))


def _places(reader: NodeReader) -> tuple[Names, range]:
    """The loops of the output, and the positions of the spatial axes; channels may be last."""
    rank = len(made(reader))
    batch, channels, *spatial = image_names(rank)
    if reader.node.operator == _NHWC or reader.flag("channels_last"):
        return (batch, *spatial, channels), range(1, rank - 1)
    return (batch, channels, *spatial), range(2, rank)


def _before(reader: NodeReader, missing: list[int]) -> Sizes:
    """The padding before each spatial axis; ``missing`` is the total padding if automatic."""
    count = len(missing)
    match reader.text("auto_pad", "NOTSET"):
        case "SAME_UPPER":
            return tuple(over // 2 for over in missing)
        case "SAME_LOWER":
            return tuple(over - over // 2 for over in missing)
        case "VALID":
            return (0,) * count
        case _:
            return reader.integers("pads", (0,) * 2 * count, least=0)[:count]


def _response(reader: NodeReader) -> Reads:
    """LRN: a window of channels around each channel."""
    output, size = made(reader), reader.integer("size", 1)
    names = names_of(len(output))
    axes = list(each(names))
    axes[1] = window(names[1], output[1], output[1], (1, 1), (size, (size - 1) // 2))
    return Reads(names, {0: tuple(axes)}, {inner(names[1]): size})


def _sample(reader: NodeReader) -> Reads:
    """Any position in an image, given by a row of the grid."""
    names = image_names(len(made(reader)))
    places = range(2, len(names))
    grid = (along("B"), *each(names[2:]), None)
    return Reads(names, {0: each(names, places), 1: grid})


def _regions(reader: NodeReader) -> Reads:
    """Any position in any image, given by a row of the regions."""
    expect(reader, len(made(reader)) == len(read(reader)) == 4)
    names = image_names(4)
    inputs = {0: (None, along("K"), None, None), 1: (along("B"), None)}
    return Reads(names, {**inputs, 2: (along("B"),)} if reader.has(2) else inputs)


def _grid(reader: NodeReader) -> Reads:
    """Each coordinate reads one row of a matrix."""
    names = row_names(len(made(reader)))
    return Reads(names, {0: (along(names[0]), along(names[-1]), None)})


def _columns(reader: NodeReader) -> Reads:
    """The columns that an image was split into; those of a channel are adjacent."""
    output, block = made(reader), integers_at(reader, 2)
    names = image_names(len(output))
    if block is None:
        return Reads(names, {0: (along("B"), None, None)})
    size = prod(block)
    channel = AffineIndex(
        terms=(Term(dimension="K", coefficient=size), Term(dimension="C")), size=read(reader)[1]
    )
    return Reads(names, {0: (along("B"), channel, None)}, {"C": size})


def _frames(reader: NodeReader) -> Reads:
    """Frames of a signal, a fixed step apart."""
    output, step = made(reader), integers_at(reader, 1)
    window_sizes = read(reader, 2) if reader.has(2) else integers_at(reader, 3)
    names = row_names(len(output))
    tail = (None,) * (len(read(reader)) - 2)
    if step is None or not window_sizes:
        return Reads(names, {0: (along(names[0]), None, *tail)})
    length = window_sizes[0]
    frame = AffineIndex(
        terms=(Term(dimension=names[1], coefficient=step[0]), Term(dimension="C")),
        size=read(reader)[1],
    )
    return Reads(names, {0: (along(names[0]), frame, *tail)}, {"C": length})


_GLOBAL: Final = ("GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool")
_MICROSOFT: Final = "com.microsoft.QLinear"

NESTS: Final[Mapping[str, ReadRule]] = {
    **dict.fromkeys(("MaxPool", "AveragePool", "LpPool", _NHWC), _pool),
    f"{_MICROSOFT}AveragePool": _pool,
    **dict.fromkeys((*_GLOBAL, f"{_MICROSOFT}GlobalAveragePool"), _global_pool),
    "LRN": _response,
    **dict.fromkeys(("Resize", "Upsample"), resize),
    **dict.fromkeys(("GridSample", "com.microsoft.GridSample"), _sample),
    **dict.fromkeys(("MaxRoiPool", "RoiAlign"), _regions),
    "AffineGrid": _grid,
    "Col2Im": _columns,
    "STFT": _frames,
}
"""The read rules of operators with sliding windows."""
