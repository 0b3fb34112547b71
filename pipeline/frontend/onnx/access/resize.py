"""Determines the reads of Resize and Upsample: indices along axes scaled by whole factors."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from math import ceil, floor
from typing import Final

import numpy as np

from nestmap.model.dims import Dimension
from nestmap.model.workload.affine import AffineIndex, Term
from nestmap.pipeline.frontend.onnx.access.axis_reads import (
    VectorReads,
    names_of,
    phase_loop,
    window,
    window_loop,
)
from nestmap.pipeline.frontend.onnx.load.shapes import Sizes
from nestmap.pipeline.frontend.onnx.node.reader import NodeReader
from nestmap.pipeline.frontend.onnx.node.static_values import (
    check_fits,
    input_sizes,
    normalize_axis,
    output_sizes,
)

_NEW_RESIZE: Final = 11
"""The first opset in which Resize states its rounding and may have sizes instead of scales."""

_HALF: Final = Fraction(1, 2)

_CENTERED: Final = ("half_pixel", "pytorch_half_pixel", "half_pixel_symmetric")
"""Coordinate modes with centered elements, which are equal for whole factors."""

_TAPS: Final[Mapping[str, int]] = {"linear": 1, "bilinear": 1, "cubic": 2, "bicubic": 2}
"""Elements on each side of a position that these modes interpolate."""

Factors = tuple[int, int]
"""The factors by which an axis grows and shrinks; one of them is 1."""


def resize(reader: NodeReader) -> VectorReads:
    """The reads of a Resize or Upsample; axes not scaled by whole factors are read whole."""
    before, after = input_sizes(reader), output_sizes(reader)
    check_fits(reader, len(before) == len(after))
    names = names_of(len(after))
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
            axes[axis] = window(name, after[axis] // up, before[axis], (down, 1), over)
            windows[window_loop(name)] = over[0]
    inner_loops = [*windows.items(), *((phase_loop(name), up) for name, up in phases.items())]
    return VectorReads(names, {0: tuple(axes)}, dict(reversed(inner_loops)), phases)


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
