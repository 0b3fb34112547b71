"""Determines the reads of operators with sliding windows: pooling, resampling, LRN, STFT."""

from collections.abc import Mapping
from fractions import Fraction
from math import ceil, floor, prod
from typing import Final

import numpy as np

from nestmap.model.dims import Dimension
from nestmap.model.workload.affine import AffineIndex, Term
from nestmap.pipeline.frontend.onnx.load.opsets import BLOCKED, CHANNELS_LAST
from nestmap.pipeline.frontend.onnx.load.shapes import Sizes
from nestmap.pipeline.frontend.onnx.node import static_values as static
from nestmap.pipeline.frontend.onnx.node.reader import NodeReader
from nestmap.pipeline.frontend.onnx.operators import axis_reads as reads

# --- determines the reads of Resize and Upsample: indices along axes scaled by whole factors ---

_NEW_RESIZE: Final = 11
"""The first opset in which Resize states its rounding and may have sizes instead of scales."""

_HALF: Final = Fraction(1, 2)

_CENTERED: Final = ("half_pixel", "pytorch_half_pixel", "half_pixel_symmetric")
"""Coordinate modes with centered elements, which are equal for whole factors."""

_TAPS: Final[Mapping[str, int]] = {"linear": 1, "bilinear": 1, "cubic": 2, "bicubic": 2}
"""Elements on each side of a position that these modes interpolate."""

Factors = tuple[int, int]
"""The factors by which an axis grows and shrinks; one of them is 1."""


def resize(reader: NodeReader) -> reads.VectorReads:
    """The reads of a Resize or Upsample; axes not scaled by whole factors are read whole."""
    before, after = static.input_sizes(reader), static.output_sizes(reader)
    static.check_fits(reader, len(before) == len(after))
    names = reads.names_of(len(after))
    windows, phases = dict[Dimension, int](), dict[Dimension, int]()
    axes: list[AffineIndex | None] = [None] * len(after)
    for axis, factors in _factors(reader, before, after).items():
        reach = (0, 0) if factors == (1, 1) else _reach(reader, factors)
        if reach is None:
            continue
        name, (up, down), (first, last) = names[axis], factors, reach
        if up > 1:
            phases[name] = up
        if first == last == 0:
            size = None if down == 1 else before[axis]
            axes[axis] = AffineIndex(terms=(Term(dimension=name, coefficient=down),), size=size)
        else:
            over = last - min(0, first) + 1, max(0, -first)
            axes[axis] = reads.window(name, after[axis] // up, before[axis], (down, 1), over)
            windows[reads.window_loop(name)] = over[0]
    inner_loops = [*windows.items(), *((reads.phase_loop(name), up) for name, up in phases.items())]
    return reads.VectorReads(names, {0: tuple(axes)}, dict(reversed(inner_loops)), phases)


def _reach(reader: NodeReader, factors: Factors) -> tuple[int, int] | None:
    """The first and last element read, relative to the scaled position.

    ``None`` if they differ between positions.
    """
    up, down = factors
    low, high = Fraction(0), Fraction(up - 1, up)
    match _way(reader):
        case "asymmetric":
            pass
        case way if way in _CENTERED:
            middle = (_HALF * down) / up - _HALF
            low, high = low + middle, high + middle
        case _:
            return None
    mode = reader.text("mode", "nearest")
    if mode == "nearest":
        return _rounded(reader, low), _rounded(reader, high)
    if mode not in _TAPS or reader.flag("antialias"):
        return None
    return floor(low) - _TAPS[mode] + 1, floor(high) + _TAPS[mode]


def _way(reader: NodeReader) -> str:
    if _is_old(reader):
        return "asymmetric"
    return reader.text("coordinate_transformation_mode", "half_pixel")


def _rounded(reader: NodeReader, position: Fraction) -> int:
    mode = "floor" if _is_old(reader) else reader.text("nearest_mode", "round_prefer_floor")
    match mode:
        case "floor":
            return floor(position)
        case "ceil":
            return ceil(position)
        case "round_prefer_ceil":
            return floor(position + _HALF)
        case _:
            return ceil(position - _HALF)


def _is_old(reader: NodeReader) -> bool:
    return reader.node.operator == "Upsample" or reader.graph.version < _NEW_RESIZE


def _factors(reader: NodeReader, before: Sizes, after: Sizes) -> dict[int, Factors]:
    """The axes that scale by a whole factor or not at all, with their factors.

    An axis of equal size before and after may still be resampled, with a scale near 1.
    """
    rank = len(before)
    axes = tuple(
        static.normalize_axis(reader, axis, rank)
        for axis in reader.integer_list("axes") or range(rank)
    )
    pairs = tuple(zip(before, after, strict=True))
    found = {axis: (1, 1) for axis, (a, b) in enumerate(pairs) if a == b and axis not in axes}
    if not _is_old(reader) and reader.has(3):
        stretched = reader.text("keep_aspect_ratio_policy", "stretch") == "stretch"
        known = {axis: pairs[axis] for axis in axes if stretched and pairs[axis][0]}
        scales = {axis: Fraction(b, a) for axis, (a, b) in known.items()}
    else:
        scales = dict(zip(axes, map(Fraction, _scales(reader)), strict=False))
    for axis, scale in scales.items():
        a, b = pairs[axis]
        if a * scale == b and 1 in (scale.numerator, scale.denominator):
            found[axis] = (scale.numerator, scale.denominator)
    cropped = reader.text("coordinate_transformation_mode", "") == "tf_crop_and_resize"
    return {axis: x for axis, x in found.items() if not (cropped and axis in axes)}


def _scales(reader: NodeReader) -> tuple[float, ...]:
    """The scales of the axes; empty if unknown."""
    for attribute in reader.node.proto.attribute:
        if attribute.name == "scales":
            return tuple(attribute.floats)
    value = reader.value(1 if _is_old(reader) else 2)
    if value is None or value.dtype.kind != "f" or not np.isfinite(value).all():
        return ()
    return tuple(float(scale) for scale in value.ravel().tolist())


# --- determines the reads of operators with sliding windows ---

_NHWC: Final = "com.microsoft.NhwcMaxPool"


def _pool(reader: NodeReader) -> reads.VectorReads:
    """Windows with strides and dilations; padding extends to the last window."""
    count = len(static.input_sizes(reader)) - 2
    ones = (1,) * count
    kernel = reader.integers("kernel_shape", ones)
    strides, dilations = reader.integers("strides", ones), reader.integers("dilations", ones)
    return _windows(reader, kernel, tuple(zip(strides, dilations, strict=True)))


def _global_pool(reader: NodeReader) -> reads.VectorReads:
    """One window for each channel."""
    _, places = _places(reader)
    image = static.input_sizes(reader)
    kernel = tuple(image[place] for place in places)
    return _windows(reader, kernel, ((1, 1),) * len(kernel))


def _windows(
    reader: NodeReader, kernel: Sizes, steps: tuple[tuple[int, int], ...]
) -> reads.VectorReads:
    image, output = static.input_sizes(reader), static.output_sizes(reader)
    names, places = _places(reader)
    static.check_fits(reader, len(output) == len(image))
    reached = [
        (output[place] - 1) * stride + (elements - 1) * dilation + 1 - image[place]
        for place, elements, (stride, dilation) in zip(places, kernel, steps, strict=True)
    ]
    before = _before(reader, [max(0, over) for over in reached])
    axes = list(reads.output_indices(names))
    for place, elements, step, lead in zip(places, kernel, steps, before, strict=True):
        axes[place] = reads.window(
            names[place], output[place], image[place], step, (elements, lead)
        )
    windows = {
        reads.window_loop(names[place]): size for place, size in zip(places, kernel, strict=True)
    }
    return reads.VectorReads(names, {0: tuple(axes)}, dict(reversed(windows.items())))


def _places(reader: NodeReader) -> tuple[reads.Names, range]:
    """The loops of the output, and the positions of the spatial axes; channels may be last."""
    rank = len(static.output_sizes(reader))
    batch, channels, *spatial = reads.image_names(rank)
    operator = reader.node.operator
    is_last = operator == _NHWC or operator.startswith(CHANNELS_LAST)
    if is_last or reader.flag("channels_last"):
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


def _response(reader: NodeReader) -> reads.VectorReads:
    """LRN: a window of channels around each channel."""
    output, size = static.output_sizes(reader), reader.integer("size", 1)
    names = reads.names_of(len(output))
    axes = list(reads.output_indices(names))
    axes[1] = reads.window(names[1], output[1], output[1], (1, 1), (size, (size - 1) // 2))
    return reads.VectorReads(names, {0: tuple(axes)}, {reads.window_loop(names[1]): size})


def _sample(reader: NodeReader) -> reads.VectorReads:
    """Any position in an image, given by a row of the grid."""
    names = reads.image_names(len(static.output_sizes(reader)))
    places = range(2, len(names))
    grid = (reads.loop_index("B"), *reads.output_indices(names[2:]), None)
    return reads.VectorReads(names, {0: reads.output_indices(names, places), 1: grid})


def _regions(reader: NodeReader) -> reads.VectorReads:
    """Any position in any image, given by a row of the regions."""
    static.check_fits(
        reader, len(static.output_sizes(reader)) == len(static.input_sizes(reader)) == 4
    )
    names = reads.image_names(4)
    inputs = {0: (None, reads.loop_index("K"), None, None), 1: (reads.loop_index("B"), None)}
    return reads.VectorReads(
        names, {**inputs, 2: (reads.loop_index("B"),)} if reader.has(2) else inputs
    )


def _grid(reader: NodeReader) -> reads.VectorReads:
    """Each coordinate reads one row of a matrix."""
    names = reads.row_names(len(static.output_sizes(reader)))
    return reads.VectorReads(
        names, {0: (reads.loop_index(names[0]), reads.loop_index(names[-1]), None)}
    )


def _columns(reader: NodeReader) -> reads.VectorReads:
    """The columns that an image was split into; those of a channel are adjacent."""
    output, block = static.output_sizes(reader), static.integers_at(reader, 2)
    names = reads.image_names(len(output))
    if block is None:
        return reads.VectorReads(names, {0: (reads.loop_index("B"), None, None)})
    size = prod(block)
    channel = AffineIndex(
        terms=(Term(dimension="K", coefficient=size), Term(dimension="C")),
        size=static.input_sizes(reader)[1],
    )
    return reads.VectorReads(names, {0: (reads.loop_index("B"), channel, None)}, {"C": size})


def _frames(reader: NodeReader) -> reads.VectorReads:
    """Frames of a signal, a fixed step apart."""
    output, step = static.output_sizes(reader), static.integers_at(reader, 1)
    window_sizes = static.input_sizes(reader, 2) if reader.has(2) else static.integers_at(reader, 3)
    names = reads.row_names(len(output))
    tail = (None,) * (len(static.input_sizes(reader)) - 2)
    if step is None or not window_sizes:
        return reads.VectorReads(names, {0: (reads.loop_index(names[0]), None, *tail)})
    length = window_sizes[0]
    frame = AffineIndex(
        terms=(Term(dimension=names[1], coefficient=step[0]), Term(dimension="C")),
        size=static.input_sizes(reader)[1],
    )
    return reads.VectorReads(names, {0: (reads.loop_index(names[0]), frame, *tail)}, {"C": length})


_GLOBAL: Final = ("GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool")
_MICROSOFT: Final = "com.microsoft.QLinear"
_LAYOUTS: Final = (BLOCKED, CHANNELS_LAST)

NESTS: Final[Mapping[str, reads.ReadRule]] = {
    **dict.fromkeys(("MaxPool", "AveragePool", "LpPool", _NHWC), _pool),
    f"{_MICROSOFT}AveragePool": _pool,
    **{f"{domain}.{kind}Pool": _pool for domain in _LAYOUTS for kind in ("Average", "Max")},
    **{
        f"{domain}.Global{kind}Pool": _global_pool
        for domain in _LAYOUTS
        for kind in ("Average", "Max")
    },
    **dict.fromkeys((*_GLOBAL, f"{_MICROSOFT}GlobalAveragePool"), _global_pool),
    "LRN": _response,
    **dict.fromkeys(("Resize", "Upsample", f"{BLOCKED}.Upsample"), resize),
    **dict.fromkeys(("GridSample", "com.microsoft.GridSample"), _sample),
    **dict.fromkeys(("MaxRoiPool", "RoiAlign"), _regions),
    "AffineGrid": _grid,
    "Col2Im": _columns,
    "STFT": _frames,
}
"""The read rules of operators with sliding windows."""
