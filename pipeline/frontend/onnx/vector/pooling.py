"""Counts the operations of pooling and resampling, which read windows of their input."""

from __future__ import annotations

from collections.abc import Mapping
from math import ceil
from typing import Final

from nestmap.pipeline.frontend.onnx.load.opsets import BLOCKED, CHANNELS_LAST
from nestmap.pipeline.frontend.onnx.node.reader import NodeReader
from nestmap.pipeline.frontend.onnx.vector import operation_counts as counts

_TAPS: Final[Mapping[str, int]] = {
    "nearest": 1,
    "linear": 2,
    "bilinear": 2,
    "cubic": 4,
    "bicubic": 4,
}
"""Elements per axis that each mode of Resize, Upsample and GridSample interpolates."""


def _windows(operations: int) -> counts.Rule:
    """The rule of pooling operators; a kernel counts in full even over padding."""

    def rule(reader: NodeReader) -> counts.Work:
        unset = (1,) * (len(counts.input_sizes(reader)) - 2)
        kernel = reader.integers("kernel_shape", unset)
        return counts.Work((*counts.output_sizes(reader), *kernel), operations)

    return rule


def _region_average(reader: NodeReader) -> counts.Work:
    # With 0, the number of samples adapts to the region and depends on the data: at least 1.
    ratio = max(1, reader.integer("sampling_ratio", 0, least=0))
    corners = (2, 2)
    return counts.Work((*counts.output_sizes(reader), ratio, ratio, *corners), 2)


def _resize(reader: NodeReader) -> counts.Work:
    """Each output weights all elements in the product of the windows along resized axes."""
    pairs = counts.before_and_after(reader)
    taps = _TAPS.get(reader.text("mode", "nearest"), 1)
    after = counts.output_sizes(reader)
    if taps == 1:
        return counts.Work(after, 1)
    wide = reader.flag("antialias")
    weighed = tuple(_reach(taps, *pair, wide=wide) for pair in pairs if pair[0] != pair[1])
    return counts.Work((*after, *weighed), 2)


def _reach(taps: int, before: int, after: int, *, wide: bool) -> int:
    """The elements along an axis; an antialiasing filter widens with the shrink factor."""
    return ceil(taps * before / after) if wide and before > after > 0 else taps


def _sample(reader: NodeReader) -> counts.Work:
    after = counts.output_sizes(reader)
    taps = _TAPS.get(reader.text("mode", "linear"), 2)
    window = (taps,) * (len(after) - 2)
    return counts.Work((*after, *window), 1 if taps == 1 else 2)


def _affine_grid(reader: NodeReader) -> counts.Work:
    # Each coordinate is a product of a row and a position whose last number is 1.
    after = counts.output_sizes(reader)
    axes = after[-1] if after else 1
    return counts.Work(after, 2 * axes)


_LAYOUTS: Final = ("", f"{BLOCKED}.", f"{CHANNELS_LAST}.")

_GLOBAL: Final = (
    *(f"{domain}Global{kind}Pool" for domain in _LAYOUTS for kind in ("Average", "Max")),
    "com.microsoft.QLinearGlobalAveragePool",
)
_WINDOWS: Final = (
    *(f"{domain}{kind}Pool" for domain in _LAYOUTS for kind in ("Average", "Max")),
    *("com.microsoft.NhwcMaxPool", "com.microsoft.QLinearAveragePool"),
)

POOLING: Final[Mapping[str, counts.Rule]] = {
    # a comparison or an addition for each element of a window
    **dict.fromkeys(_WINDOWS, _windows(1)),
    "LpPool": _windows(2),  # power, add
    **dict.fromkeys(_GLOBAL, counts.over_input(1)),
    "GlobalLpPool": counts.over_input(2),
    # The sizes of its windows depend on the data: at least one comparison.
    "MaxRoiPool": counts.over_output(1),
    # a product and an addition for each weighted element
    "RoiAlign": _region_average,
    **dict.fromkeys(("Resize", "Upsample", f"{BLOCKED}.Upsample"), _resize),
    **dict.fromkeys(("GridSample", "com.microsoft.GridSample"), _sample),
    "AffineGrid": _affine_grid,
    "Col2Im": counts.over_input(1),  # adds each element to the image
}
"""The rules of pooling and resampling, counted over the elements of all windows."""
