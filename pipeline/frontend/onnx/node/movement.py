"""Lists the operators that only move data: they change its shape, position or name.

Operators that generate a tensor from parameters (a range, random numbers, a filter window) count as
data movement, too: other units read their outputs like stored tensors. Dropout does nothing in
inference. A Cast is work of the vector unit because it converts each value, whereas a BitCast only
reinterprets bits. ScatterElements and ScatterND are counted without their ``reduction``.
"""

from typing import Final

from nestmap.pipeline.frontend.onnx.load.opsets import BLOCKED

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
"""Operators whose inputs only parametrize their generated output."""

_CONTAINER: Final = (
    *("SequenceAt", "SequenceConstruct", "SequenceEmpty", "SequenceErase", "SequenceInsert"),
    *("SequenceLength", "ConcatFromSequence", "SplitToSequence"),
    *("Optional", "OptionalGetElement", "OptionalHasElement"),
)

_MICROSOFT: Final = tuple(
    f"com.microsoft.{operator}"
    for operator in ("ExpandDims", "GatherND", "Pad", "Trilu", "BitmaskDropout")
)
_BLOCKS: Final = (f"{BLOCKED}.ReorderInput", f"{BLOCKED}.ReorderOutput")

MOVEMENT_OPERATORS: Final = frozenset((*_SHAPE, *_PLACE, *MADE, *_CONTAINER, *_MICROSOFT, *_BLOCKS))
"""Operators without cost; the workload keeps them as connections between nodes."""
