"""Operators with windows: pooling, resampling, regions, LRN, the short-time Fourier transform."""

from collections.abc import Mapping
from fractions import Fraction
from math import ceil, floor, prod
from typing import Final

import numpy as np

from nestmap.model.dims import Dimension
from nestmap.model.workload.affine import AffineIndex, Term
from nestmap.pipeline.frontend.onnx.load.opsets import BLOCKED, CHANNELS_LAST, MICROSOFT
from nestmap.pipeline.frontend.onnx.load.shapes import Sizes
from nestmap.pipeline.frontend.onnx.node.reader import NodeReader
from nestmap.pipeline.frontend.onnx.node.static_values import (
    check_fits,
    input_sizes,
    integers_at,
    normalize_axis,
    output_sizes,
)
from nestmap.pipeline.frontend.onnx.operators import axis_reads as reads
from nestmap.pipeline.frontend.onnx.operators import output_shapes as shapes
from nestmap.pipeline.frontend.onnx.operators import work as counts
from nestmap.pipeline.frontend.onnx.operators.output_shapes import ElementSource
from nestmap.pipeline.frontend.onnx.operators.record import Bits, Operator, Vector

# --- what a window takes ---

_TAPS: Final = {"nearest": 1, "linear": 2, "bilinear": 2, "cubic": 4, "bicubic": 4}
"""Elements per axis that each mode of Resize, Upsample and GridSample interpolates."""


def _windows_work(operations: int) -> counts.WorkRule:
    """The rule of pooling operators; a kernel counts in full even over padding."""

    def rule(reader: NodeReader) -> counts.Work:
        unset = (1,) * (len(input_sizes(reader)) - 2)
        kernel = reader.integers("kernel_shape", unset)
        return counts.Work((*counts.output_sizes(reader), *kernel), operations)

    return rule


def _region_average_work(reader: NodeReader) -> counts.Work:
    # With 0, the number of samples adapts to the region and depends on the data: at least 1.
    ratio = max(1, reader.integer("sampling_ratio", 0, least=0))
    corners = (2, 2)
    return counts.Work((*counts.output_sizes(reader), ratio, ratio, *corners), 2)


def _resize_work(reader: NodeReader) -> counts.Work:
    """Each output weights all elements in the product of the windows along resized axes."""
    pairs = counts.before_and_after(reader)
    taps = _TAPS.get(reader.text("mode", "nearest"), 1)
    after = counts.output_sizes(reader)
    if taps == 1:
        return counts.Work(after, 1)
    wide = reader.flag("antialias")
    weighed = tuple(_width(taps, *pair, wide=wide) for pair in pairs if pair[0] != pair[1])
    return counts.Work((*after, *weighed), 2)


def _width(taps: int, before: int, after: int, *, wide: bool) -> int:
    """The elements along an axis; an antialiasing filter widens with the shrink factor."""
    return ceil(taps * before / after) if wide and before > after > 0 else taps


def _sample_work(reader: NodeReader) -> counts.Work:
    after = counts.output_sizes(reader)
    taps = _TAPS.get(reader.text("mode", "linear"), 2)
    window = (taps,) * (len(after) - 2)
    return counts.Work((*after, *window), 1 if taps == 1 else 2)


def _affine_grid_work(reader: NodeReader) -> counts.Work:
    # Each coordinate is a product of a row and a position whose last number is 1.
    after = counts.output_sizes(reader)
    axes = after[-1] if after else 1
    return counts.Work(after, 2 * axes)


def _short_time_fourier_work(reader: NodeReader) -> counts.Work:
    """A window for each frame, and its transform."""
    frames = counts.output_sizes(reader)[:2]
    length = max(
        input_sizes(reader, 2) if reader.has(2) else counts.output_sizes(reader)[2:3], default=1
    )
    return counts.Work((*frames, length), 5 * counts.steps_of_halving(length) + reader.has(2))


def _local_response_work(reader: NodeReader) -> counts.Work:
    # A square and a sum for each channel of the window; product, bias, power, divide.
    return counts.Work(input_sizes(reader), 2 * reader.integer("size", 1) + 4)


# --- determines the reads of Resize and Upsample: indices along axes scaled by whole factors ---

_NEW_RESIZE: Final = 11
"""The first opset in which Resize states its rounding and may have sizes instead of scales."""

_HALF: Final = Fraction(1, 2)

_CENTERED: Final = ("half_pixel", "pytorch_half_pixel", "half_pixel_symmetric")
"""Coordinate modes with centered elements, which are equal for whole factors."""

Factors = tuple[int, int]
"""The factors by which an axis grows and shrinks; one of them is 1."""


def _resize_reads(reader: NodeReader) -> reads.VectorReads:
    """The reads of a Resize or Upsample; axes not scaled by whole factors are read whole."""
    before, after = input_sizes(reader), output_sizes(reader)
    check_fits(reader, len(before) == len(after))
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
    side = _TAPS[mode] // 2
    return floor(low) - side + 1, floor(high) + side


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
        normalize_axis(reader, axis, rank) for axis in reader.integer_list("axes") or range(rank)
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

_NHWC: Final = f"{MICROSOFT}.NhwcMaxPool"


def _pool_reads(reader: NodeReader) -> reads.VectorReads:
    """Windows with strides and dilations; padding extends to the last window."""
    count = len(input_sizes(reader)) - 2
    ones = (1,) * count
    kernel = reader.integers("kernel_shape", ones)
    strides, dilations = reader.integers("strides", ones), reader.integers("dilations", ones)
    return _windows(reader, kernel, tuple(zip(strides, dilations, strict=True)))


def _global_pool_reads(reader: NodeReader) -> reads.VectorReads:
    """One window for each channel."""
    _, places = _places(reader)
    image = input_sizes(reader)
    kernel = tuple(image[place] for place in places)
    return _windows(reader, kernel, ((1, 1),) * len(kernel))


def _windows(
    reader: NodeReader, kernel: Sizes, steps: tuple[tuple[int, int], ...]
) -> reads.VectorReads:
    image, output = input_sizes(reader), output_sizes(reader)
    names, places = _places(reader)
    check_fits(reader, len(output) == len(image))
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
    rank = len(output_sizes(reader))
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


def _response_reads(reader: NodeReader) -> reads.VectorReads:
    """LRN: a window of channels around each channel."""
    output, size = output_sizes(reader), reader.integer("size", 1)
    names = reads.names_of(len(output))
    axes = list(reads.output_indices(names))
    axes[1] = reads.window(names[1], output[1], output[1], (1, 1), (size, (size - 1) // 2))
    return reads.VectorReads(names, {0: tuple(axes)}, {reads.window_loop(names[1]): size})


def _sample_reads(reader: NodeReader) -> reads.VectorReads:
    """Any position in an image, given by a row of the grid."""
    names = reads.image_names(len(output_sizes(reader)))
    places = range(2, len(names))
    grid = (reads.loop_index("B"), *reads.output_indices(names[2:]), None)
    return reads.VectorReads(names, {0: reads.output_indices(names, places), 1: grid})


def _regions_reads(reader: NodeReader) -> reads.VectorReads:
    """Any position in any image, given by a row of the regions."""
    check_fits(reader, len(output_sizes(reader)) == len(input_sizes(reader)) == 4)
    names = reads.image_names(4)
    inputs = {0: (None, reads.loop_index("K"), None, None), 1: (reads.loop_index("B"), None)}
    return reads.VectorReads(
        names, {**inputs, 2: (reads.loop_index("B"),)} if reader.has(2) else inputs
    )


def _grid_reads(reader: NodeReader) -> reads.VectorReads:
    """Each coordinate reads one row of a matrix."""
    names = reads.row_names(len(output_sizes(reader)))
    return reads.VectorReads(
        names, {0: (reads.loop_index(names[0]), reads.loop_index(names[-1]), None)}
    )


def _columns_reads(reader: NodeReader) -> reads.VectorReads:
    """The columns that an image was split into; those of a channel are adjacent."""
    output, block = output_sizes(reader), integers_at(reader, 2)
    names = reads.image_names(len(output))
    if block is None:
        return reads.VectorReads(names, {0: (reads.loop_index("B"), None, None)})
    size = prod(block)
    channel = AffineIndex(
        terms=(Term(dimension="K", coefficient=size), Term(dimension="C")),
        size=input_sizes(reader)[1],
    )
    return reads.VectorReads(names, {0: (reads.loop_index("B"), channel, None)}, {"C": size})


def _frames_reads(reader: NodeReader) -> reads.VectorReads:
    """Frames of a signal, a fixed step apart."""
    output, step = output_sizes(reader), integers_at(reader, 1)
    window_sizes = input_sizes(reader, 2) if reader.has(2) else integers_at(reader, 3)
    names = reads.row_names(len(output))
    tail = (None,) * (len(input_sizes(reader)) - 2)
    if step is None or not window_sizes:
        return reads.VectorReads(names, {0: (reads.loop_index(names[0]), None, *tail)})
    length = window_sizes[0]
    frame = AffineIndex(
        terms=(Term(dimension=names[1], coefficient=step[0]), Term(dimension="C")),
        size=input_sizes(reader)[1],
    )
    return reads.VectorReads(names, {0: (reads.loop_index(names[0]), frame, *tail)}, {"C": length})


def _image_shape(operator: str) -> shapes.ShapeRule:
    return lambda node: shapes.on_image(node, operator)


_LAYOUTS: Final = (BLOCKED, CHANNELS_LAST)
# a comparison or an addition for each element of a window
_POOL: Final = Vector(_windows_work(1), _pool_reads)
_GLOBAL: Final = Vector(counts.over_input(1), _global_pool_reads)
_RESIZE: Final = Vector(_resize_work, _resize_reads)
_SAMPLE: Final = Vector(_sample_work, _sample_reads)

WINDOWS: Final[Mapping[str, Operator]] = {
    "MaxPool": Operator(_POOL, bits=Bits.KEPT),
    "AveragePool": Operator(_POOL),
    "LpPool": Operator(Vector(_windows_work(2), _pool_reads)),  # power, add
    _NHWC: Operator(_POOL, _image_shape("MaxPool")),
    f"{MICROSOFT}.QLinearAveragePool": Operator(
        _POOL, _image_shape("AveragePool"), ElementSource(4)
    ),
    **{
        f"{domain}.{name}": Operator(work, _image_shape(name))
        for domain in _LAYOUTS
        for names, work in (
            (("MaxPool", "AveragePool"), _POOL),
            (("GlobalMaxPool", "GlobalAveragePool"), _GLOBAL),
        )
        for name in names
    },
    "GlobalMaxPool": Operator(_GLOBAL, bits=Bits.KEPT),
    "GlobalAveragePool": Operator(_GLOBAL),
    "GlobalLpPool": Operator(Vector(counts.over_input(2), _global_pool_reads)),
    f"{MICROSOFT}.QLinearGlobalAveragePool": Operator(
        _GLOBAL, _image_shape("GlobalAveragePool"), ElementSource(4)
    ),
    # The sizes of its windows depend on the data: at least one comparison.
    "MaxRoiPool": Operator(Vector(counts.over_output(1), _regions_reads)),
    # a product and an addition for each weighted element
    "RoiAlign": Operator(Vector(_region_average_work, _regions_reads)),
    **dict.fromkeys(("Resize", "Upsample"), Operator(_RESIZE, sizes_from=1)),
    f"{BLOCKED}.Upsample": Operator(_RESIZE),
    "GridSample": Operator(_SAMPLE),
    f"{MICROSOFT}.GridSample": Operator(_SAMPLE, shapes.like("GridSample", 0, 1)),
    "AffineGrid": Operator(Vector(_affine_grid_work, _grid_reads), sizes_from=1),
    "Col2Im": Operator(Vector(counts.over_input(1), _columns_reads)),  # adds each element
    "LRN": Operator(Vector(_local_response_work, _response_reads)),
    "STFT": Operator(Vector(_short_time_fourier_work, _frames_reads)),
}
"""The operators of windows, regions and frames."""
