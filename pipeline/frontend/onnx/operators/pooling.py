"""Counts the operations of pooling, resampling, reductions, scans, sorting and transforms."""

from collections.abc import Mapping
from math import ceil
from typing import Final

from nestmap.pipeline.frontend.onnx.load.opsets import BLOCKED, CHANNELS_LAST
from nestmap.pipeline.frontend.onnx.node.reader import NodeReader
from nestmap.pipeline.frontend.onnx.operators import work as counts

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


# --- counts the operations of reductions, scans, sorting and transforms ---

_EACH: Final[Mapping[str, int]] = {
    "ReduceSum": 1,
    "ReduceMean": 1,
    "ReduceMax": 1,
    "ReduceMin": 1,
    "ReduceProd": 1,
    "ReduceLogSum": 1,
    "ReduceL1": 2,  # absolute value, add
    "ReduceL2": 2,  # square, add
    "ReduceSumSquare": 2,
    "ReduceLogSumExp": 4,  # maximum, subtract, exp, add
    "ArgMax": 1,
    "ArgMin": 1,
    "CumSum": 1,
    "CumProd": 1,
    "NonZero": 1,
    "com.microsoft.QLinearReduceMean": 1,
}


def _top(reader: NodeReader) -> counts.Work:
    """Each element is compared along a path in a heap of the best elements so far."""
    _, best = counts.before_and_after(reader)[counts.axis_of(reader, -1)]
    return counts.Work(counts.input_sizes(reader), counts.steps_of_halving(best + 1))


def _sorted(reader: NodeReader) -> counts.Work:
    sizes = counts.input_sizes(reader)
    return counts.Work(sizes, counts.steps_of_halving(reader.inputs[0].elements))


def _suppression(reader: NodeReader) -> counts.Work:
    """Boxes are sorted by score; the number of box comparisons depends on the data."""
    scores = counts.input_sizes(reader, 1)
    return counts.Work(scores, counts.steps_of_halving(scores[-1]) if scores else 1)


def _draws(reader: NodeReader) -> counts.Work:
    # The cumulative sum over classes, in which each draw is looked up.
    classes = counts.input_sizes(reader)[-1:]
    return counts.Work(counts.output_sizes(reader), sum(classes) or 1)


def _determinant(reader: NodeReader) -> counts.Work:
    """Elimination: each of the k rows below a pivot takes a division and k products and sums."""
    sizes = counts.input_sizes(reader)
    size = sizes[-1] if sizes else 1
    return counts.Work(sizes[:-2], max(1, 2 * (size**3 - size) // 3))


def _fourier(reader: NodeReader) -> counts.Work:
    """A fast transform of n complex numbers: ``5 n log2 n`` real operations (Van Loan, 1992)."""
    longest = tuple(map(max, counts.before_and_after(reader)))
    # From operator set 20 on, the axis is an input; it only matters if there are several axes.
    length = max(longest[:-1], default=1) if reader.has(2) else longest[counts.axis_of(reader, -2)]
    return counts.Work(longest[:-1], 5 * counts.steps_of_halving(length))


def _short_time_fourier(reader: NodeReader) -> counts.Work:
    """A window for each frame, and its transform."""
    frames = counts.output_sizes(reader)[:2]
    length = max(
        counts.input_sizes(reader, 2) if reader.has(2) else counts.output_sizes(reader)[2:3],
        default=1,
    )
    return counts.Work((*frames, length), 5 * counts.steps_of_halving(length) + reader.has(2))


REDUCTIONS: Final[Mapping[str, counts.Rule]] = {
    **{operator: counts.over_input(operations) for operator, operations in _EACH.items()},
    "TopK": _top,
    **dict.fromkeys(("Unique", "com.microsoft.Unique"), _sorted),
    "NonMaxSuppression": _suppression,
    "Multinomial": _draws,
    "Det": _determinant,
    "DFT": _fourier,
    "STFT": _short_time_fourier,
}
"""The rules of reductions, most of them counted over the elements of their input."""
