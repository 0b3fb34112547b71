"""Determines the reads of operators with sliding windows: pooling, resampling, LRN, STFT."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Final

from nestmap.model.workload.affine import AffineIndex, Term
from nestmap.pipeline.frontend.onnx.access.axis_reads import (
    Names,
    ReadRule,
    VectorReads,
    image_names,
    loop_index,
    names_of,
    output_indices,
    row_names,
    window,
    window_loop,
)
from nestmap.pipeline.frontend.onnx.access.resize import resize
from nestmap.pipeline.frontend.onnx.load.shapes import Sizes
from nestmap.pipeline.frontend.onnx.node.reader import NodeReader
from nestmap.pipeline.frontend.onnx.node.static_values import (
    check_fits,
    input_sizes,
    integers_at,
    output_sizes,
)

_NHWC: Final = "com.microsoft.NhwcMaxPool"


def _pool(reader: NodeReader) -> VectorReads:
    """Windows with strides and dilations; padding extends to the last window."""
    count = len(input_sizes(reader)) - 2
    ones = (1,) * count
    kernel = reader.integers("kernel_shape", ones)
    strides, dilations = reader.integers("strides", ones), reader.integers("dilations", ones)
    return _windows(reader, kernel, tuple(zip(strides, dilations, strict=True)))


def _global_pool(reader: NodeReader) -> VectorReads:
    """One window for each channel."""
    _, places = _places(reader)
    image = input_sizes(reader)
    kernel = tuple(image[place] for place in places)
    return _windows(reader, kernel, ((1, 1),) * len(kernel))


def _windows(reader: NodeReader, kernel: Sizes, steps: tuple[tuple[int, int], ...]) -> VectorReads:
    image, output = input_sizes(reader), output_sizes(reader)
    names, places = _places(reader)
    check_fits(reader, len(output) == len(image))
    reached = [
        (output[place] - 1) * stride + (elements - 1) * dilation + 1 - image[place]
        for place, elements, (stride, dilation) in zip(places, kernel, steps, strict=True)
    ]
    before = _before(reader, [max(0, over) for over in reached])
    axes = list(output_indices(names))
    for place, elements, step, lead in zip(places, kernel, steps, before, strict=True):
        axes[place] = window(names[place], output[place], image[place], step, (elements, lead))
    windows = {window_loop(names[place]): size for place, size in zip(places, kernel, strict=True)}
    return VectorReads(names, {0: tuple(axes)}, dict(reversed(windows.items())))


def _places(reader: NodeReader) -> tuple[Names, range]:
    """The loops of the output, and the positions of the spatial axes; channels may be last."""
    rank = len(output_sizes(reader))
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


def _response(reader: NodeReader) -> VectorReads:
    """LRN: a window of channels around each channel."""
    output, size = output_sizes(reader), reader.integer("size", 1)
    names = names_of(len(output))
    axes = list(output_indices(names))
    axes[1] = window(names[1], output[1], output[1], (1, 1), (size, (size - 1) // 2))
    return VectorReads(names, {0: tuple(axes)}, {window_loop(names[1]): size})


def _sample(reader: NodeReader) -> VectorReads:
    """Any position in an image, given by a row of the grid."""
    names = image_names(len(output_sizes(reader)))
    places = range(2, len(names))
    grid = (loop_index("B"), *output_indices(names[2:]), None)
    return VectorReads(names, {0: output_indices(names, places), 1: grid})


def _regions(reader: NodeReader) -> VectorReads:
    """Any position in any image, given by a row of the regions."""
    check_fits(reader, len(output_sizes(reader)) == len(input_sizes(reader)) == 4)
    names = image_names(4)
    inputs = {0: (None, loop_index("K"), None, None), 1: (loop_index("B"), None)}
    return VectorReads(names, {**inputs, 2: (loop_index("B"),)} if reader.has(2) else inputs)


def _grid(reader: NodeReader) -> VectorReads:
    """Each coordinate reads one row of a matrix."""
    names = row_names(len(output_sizes(reader)))
    return VectorReads(names, {0: (loop_index(names[0]), loop_index(names[-1]), None)})


def _columns(reader: NodeReader) -> VectorReads:
    """The columns that an image was split into; those of a channel are adjacent."""
    output, block = output_sizes(reader), integers_at(reader, 2)
    names = image_names(len(output))
    if block is None:
        return VectorReads(names, {0: (loop_index("B"), None, None)})
    size = prod(block)
    channel = AffineIndex(
        terms=(Term(dimension="K", coefficient=size), Term(dimension="C")),
        size=input_sizes(reader)[1],
    )
    return VectorReads(names, {0: (loop_index("B"), channel, None)}, {"C": size})


def _frames(reader: NodeReader) -> VectorReads:
    """Frames of a signal, a fixed step apart."""
    output, step = output_sizes(reader), integers_at(reader, 1)
    window_sizes = input_sizes(reader, 2) if reader.has(2) else integers_at(reader, 3)
    names = row_names(len(output))
    tail = (None,) * (len(input_sizes(reader)) - 2)
    if step is None or not window_sizes:
        return VectorReads(names, {0: (loop_index(names[0]), None, *tail)})
    length = window_sizes[0]
    frame = AffineIndex(
        terms=(Term(dimension=names[1], coefficient=step[0]), Term(dimension="C")),
        size=input_sizes(reader)[1],
    )
    return VectorReads(names, {0: (loop_index(names[0]), frame, *tail)}, {"C": length})


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
