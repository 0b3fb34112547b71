"""Determines the reads of operators that need whole axes of their input: rows, channels, groups."""

from collections.abc import Iterable, Mapping
from typing import Final

from nestmap.pipeline.frontend.onnx.node import static_values as static
from nestmap.pipeline.frontend.onnx.node.reader import NodeReader
from nestmap.pipeline.frontend.onnx.operators.axis_reads import (
    Axes,
    ReadRule,
    VectorReads,
    broadcast_indices,
    loop_index,
    names_of,
    names_with,
    output_indices,
    row_names,
)
from nestmap.pipeline.frontend.onnx.operators.pooling import REDUCTIONS

_ONE_AXIS: Final = 13
"""The first opset in which Softmax normalizes along one axis instead of all from it on."""

_AXIS_INPUT: Final = 20
"""The first opset in which the axis of DFT is an input."""

_NO_TRAINING: Final = 7
"""The first opset in which BatchNormalization is in inference mode by default."""


def _over(reader: NodeReader, whole: Iterable[int]) -> VectorReads:
    """The reads of the first input, which has the output's sizes, with some axes whole."""
    rank, wide = len(static.output_sizes(reader)), frozenset(whole)
    static.check_fits(reader, len(static.input_sizes(reader)) == rank)
    names = names_with(rank, wide)
    return VectorReads(names, {0: output_indices(names, wide)})


def _axis(default: int) -> ReadRule:
    """The rule of operators that need the whole axis given by an attribute."""
    return lambda reader: _over(
        reader, {static.axis_at(reader, default, len(static.input_sizes(reader)))}
    )


def _softmax(reader: NodeReader) -> VectorReads:
    rank = len(static.input_sizes(reader))
    if reader.graph.version >= _ONE_AXIS and not reader.node.proto.domain:
        return _axis(-1)(reader)
    return _over(reader, range(static.axis_at(reader, 1, rank), rank))


def _layer(reader: NodeReader) -> VectorReads:
    """Rows from an axis on, with scale and bias by element."""
    output = static.output_sizes(reader)
    rank = len(output)
    reads = _over(reader, range(static.axis_at(reader, -1, rank), rank))
    return _with_scales(reader, reads, 1, 2)


def _with_scales(reader: NodeReader, reads: VectorReads, *positions: int) -> VectorReads:
    output = static.output_sizes(reader)
    scales = {
        i: broadcast_indices(reads.names, output, static.input_sizes(reader, i))
        for i in positions
        if reader.has(i)
    }
    return VectorReads(reads.names, {**reads.inputs, **scales})


def _skip_layer(*scales: int) -> ReadRule:
    """Rows of the sum of the first two inputs."""

    def rule(reader: NodeReader) -> VectorReads:
        output, skip = static.output_sizes(reader), static.input_sizes(reader, 1)
        reads = _over(reader, {len(output) - 1})
        added = (*broadcast_indices(reads.names, output, skip)[:-1], None)
        whole = VectorReads(reads.names, {**reads.inputs, 1: added})
        return _with_scales(reader, whole, *scales)

    return rule


def _of_channels(reader: NodeReader, whole: Iterable[int], scales: Iterable[int]) -> VectorReads:
    """Some axes whole, and scales for each channel (the second axis)."""
    output, wide = static.output_sizes(reader), frozenset(whole)
    names = names_of(len(output))
    channel: Axes = (loop_index(names[1]),) if len(names) > 1 else (None,)
    given = [i for i in scales if reader.has(i) and static.input_sizes(reader, i) == output[1:2]]
    return VectorReads(names, {0: output_indices(names, wide), **dict.fromkeys(given, channel)})


def _instance(reader: NodeReader) -> VectorReads:
    return _of_channels(reader, range(2, len(static.output_sizes(reader))), (1, 2))


def _group(reader: NodeReader) -> VectorReads:
    """All channels of a group together."""
    output, groups = static.output_sizes(reader), reader.integer("num_groups", 1)
    first = 2 if output[1:2] == (groups,) else 1
    return _of_channels(reader, range(first, len(output)), (1, 2))


def _images(reader: NodeReader) -> VectorReads:
    """Whole images, wherever their channels are."""
    return _over(reader, range(1, len(static.output_sizes(reader))))


def _batch(reader: NodeReader) -> VectorReads:
    rank = len(static.output_sizes(reader))
    old = reader.graph.version < _NO_TRAINING and not reader.flag("is_test")
    training = old or reader.flag("training_mode") or len(reader.outputs) > 1
    whole = (axis for axis in range(rank) if axis != 1) if training else ()
    return _of_channels(reader, whole, (1, 2, 3, 4))


def _mean_variance(reader: NodeReader) -> VectorReads:
    rank = len(static.output_sizes(reader))
    axes = reader.integer_list("axes") or (0, 2, 3)
    return _over(reader, (static.normalize_axis(reader, axis, rank) for axis in axes))


def _loss(reader: NodeReader) -> VectorReads:
    """The scores of all classes and the label of each position."""
    output, scores, labels = (
        static.output_sizes(reader),
        static.input_sizes(reader),
        static.input_sizes(reader, 1),
    )
    static.check_fits(reader, output == labels and len(scores) == len(labels) + 1)
    batch, *others = row_names(len(output))
    return VectorReads(
        (batch, *others),
        {
            0: (loop_index(batch), None, *output_indices(others)),
            1: output_indices((batch, *others)),
        },
    )


def _reduce(reader: NodeReader) -> VectorReads:
    """The axes of the attribute or input ``axes``; with ``keepdims`` they follow from sizes."""
    before, after = static.input_sizes(reader), static.output_sizes(reader)
    if len(before) == len(after):
        pairs = enumerate(zip(before, after, strict=True))
        return _over(reader, [axis for axis, (a, b) in pairs if a != b])
    rank = len(before)
    inputs = -1 if reader.node.proto.domain else 1
    axes = (
        reader.integer_list("axes")
        if inputs < 0
        else static.attribute_or_input(reader, "axes", inputs)
    )
    return _lost(
        reader, {static.normalize_axis(reader, axis, rank) for axis in axes or range(rank)}
    )


def _best(reader: NodeReader) -> VectorReads:
    """The position of the largest or smallest element along an axis."""
    rank = len(static.input_sizes(reader))
    axis = static.axis_at(reader, 0, rank)
    return (
        _over(reader, {axis}) if len(static.output_sizes(reader)) == rank else _lost(reader, {axis})
    )


def _lost(reader: NodeReader, axes: Iterable[int]) -> VectorReads:
    """Whole axes that the output does not have."""
    before, after, lost = static.input_sizes(reader), static.output_sizes(reader), frozenset(axes)
    kept = tuple(size for axis, size in enumerate(before) if axis not in lost)
    static.check_fits(reader, kept == after)
    names = names_of(len(after))
    left = iter(names)
    return VectorReads(
        names, {0: tuple(None if i in lost else loop_index(next(left)) for i in range(len(before)))}
    )


def _scan(reader: NodeReader) -> VectorReads:
    axis = static.integers_at(reader, 1)
    rank = len(static.output_sizes(reader))
    return _over(
        reader, range(rank) if not axis else {static.normalize_axis(reader, axis[0], rank)}
    )


def _determinant(reader: NodeReader) -> VectorReads:
    rank = len(static.input_sizes(reader))
    return _lost(reader, {rank - 1, rank - 2})


def _fourier(reader: NodeReader) -> VectorReads:
    """One axis, and the real and imaginary parts."""
    rank = len(static.input_sizes(reader))
    attribute = not reader.has(2) and reader.graph.version < _AXIS_INPUT
    default = (reader.integer("axis", 1, least=-rank),) if attribute else (-2,)
    axis = static.integers_at(reader, 2) if reader.has(2) else default
    return _over(
        reader, (static.normalize_axis(reader, axis[0], rank), rank - 1) if axis else range(rank)
    )


def _draws(reader: NodeReader) -> VectorReads:
    static.check_fits(
        reader, len(static.output_sizes(reader)) == len(static.input_sizes(reader)) == 2
    )
    names = row_names(2)
    return VectorReads(names, {0: output_indices(names, {1})})


_REDUCED: Final = tuple(name for name in REDUCTIONS if name.startswith("Reduce"))
_SOFT: Final = ("Softmax", "LogSoftmax", "Hardmax")
_SIMPLE: Final = "SimplifiedLayerNormalization"

NESTS: Final[Mapping[str, ReadRule]] = {
    **dict.fromkeys(_SOFT, _softmax),
    **dict.fromkeys(("com.microsoft.BiasSoftmax", "com.microsoft.QLinearSoftmax"), _softmax),
    **dict.fromkeys(("LayerNormalization", "RMSNormalization"), _layer),
    **dict.fromkeys((_SIMPLE, f"com.microsoft.{_SIMPLE}"), _layer),
    "com.microsoft.SkipLayerNormalization": _skip_layer(2, 3),
    f"com.microsoft.Skip{_SIMPLE}": _skip_layer(2),
    "InstanceNormalization": _instance,
    "GroupNormalization": _group,
    "com.microsoft.GroupNorm": _images,
    "BatchNormalization": _batch,
    "MeanVarianceNormalization": _mean_variance,
    "LpNormalization": _axis(-1),
    **dict.fromkeys(("SoftmaxCrossEntropyLoss", "NegativeLogLikelihoodLoss"), _loss),
    **dict.fromkeys((*_REDUCED, "com.microsoft.QLinearReduceMean"), _reduce),
    **dict.fromkeys(("ArgMax", "ArgMin"), _best),
    "TopK": _axis(-1),
    **dict.fromkeys(("CumSum", "CumProd"), _scan),
    "Det": _determinant,
    "DFT": _fourier,
    "Multinomial": _draws,
}
"""The read rules of operators that need whole axes of their input."""
