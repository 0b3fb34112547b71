"""Counts the operations of reductions, scans, sorting and transforms."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from nestmap.pipeline.frontend.onnx.node.reader import NodeReader
from nestmap.pipeline.frontend.onnx.vector import operation_counts as counts

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
