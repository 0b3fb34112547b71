"""The operators that only move data: they give it another shape, place or name.

Those count among them that make a tensor from nothing but numbers that say how (a range, random
numbers, a window of a filter): an array or a vector unit reads them like any stored tensor. Dropout
does nothing when a network runs. A Cast is work of the vector unit, since each value is converted;
a BitCast only reads the same bits as another type. ScatterElements and ScatterND with a
``reduction`` are counted as without.
"""

from __future__ import annotations

from typing import Final

_SHAPE: Final = ("Reshape", "Flatten", "Squeeze", "Unsqueeze", "Identity", "Dropout", "BitCast")

_PLACE: Final = (
    *("Transpose", "DepthToSpace", "SpaceToDepth", "ReverseSequence"),
    *("Concat", "Split", "Slice", "Pad", "CenterCropPad", "Expand", "Tile", "Trilu", "Compress"),
    *("Gather", "GatherElements", "GatherND"),
    *("Scatter", "ScatterElements", "ScatterND", "TensorScatter", "MaxUnpool"),
)

MADE: Final = (
    *("Constant", "ConstantOfShape", "Shape", "Size", "Range", "EyeLike", "OneHot"),
    *("RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike"),
    *("HannWindow", "HammingWindow", "BlackmanWindow", "MelWeightMatrix"),
)
"""Operators whose inputs only say how large their output is and what is in it."""

_CONTAINER: Final = (
    *("SequenceAt", "SequenceConstruct", "SequenceEmpty", "SequenceErase", "SequenceInsert"),
    *("SequenceLength", "ConcatFromSequence", "SplitToSequence"),
    *("Optional", "OptionalGetElement", "OptionalHasElement"),
)

_MICROSOFT: Final = tuple(
    f"com.microsoft.{operator}"
    for operator in ("ExpandDims", "GatherND", "Pad", "Trilu", "BitmaskDropout")
)

MOVEMENT_OPERATORS: Final = frozenset((*_SHAPE, *_PLACE, *MADE, *_CONTAINER, *_MICROSOFT))
"""Operators that cost nothing; the graph knows what they connect."""
