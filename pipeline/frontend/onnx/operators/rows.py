"""Operators that need whole axes of their input: normalizations, reductions, scans, sorting."""

from collections.abc import Iterable, Mapping
from typing import Final

from nestmap.model.workload.operation_counts import OPERATIONS
from nestmap.pipeline.frontend.onnx.load.opsets import MICROSOFT
from nestmap.pipeline.frontend.onnx.load.shapes import Shape, TypedNode
from nestmap.pipeline.frontend.onnx.node.reader import NodeReader
from nestmap.pipeline.frontend.onnx.node.static_values import (
    attribute_or_input,
    axis_at,
    check_fits,
    input_sizes,
    integers_at,
    normalize_axis,
    output_sizes,
)
from nestmap.pipeline.frontend.onnx.operators import checks
from nestmap.pipeline.frontend.onnx.operators import output_shapes as shapes
from nestmap.pipeline.frontend.onnx.operators import work as counts
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
from nestmap.pipeline.frontend.onnx.operators.output_shapes import ElementSource
from nestmap.pipeline.frontend.onnx.operators.record import Folding, Operator, Vector

_ONE_AXIS: Final = 13
"""The first opset in which Softmax normalizes along one axis instead of all from it on."""

_AXIS_INPUT: Final = 20
"""The first opset in which the axis of DFT is an input."""

_NO_TRAINING: Final = 7
"""The first opset in which BatchNormalization is in inference mode by default."""


# --- what normalizations take for each element of their input ---

_MOMENTS: Final = 4
"""Operations per element for mean and variance: add; subtract the mean, square, add."""


def _batch_work(reader: NodeReader) -> counts.Work:
    # In inference, the factor and the offset of each channel are constants.
    training = reader.flag("training_mode")
    return counts.Work(input_sizes(reader), _MOMENTS + 3 if training else 2)


def _layer_work(reader: NodeReader) -> counts.Work:
    """Moments, times the row's factor, times the scale, bias."""
    return counts.Work(input_sizes(reader), _MOMENTS + 2 + reader.has(2))


def _skip_layer_work(reader: NodeReader) -> counts.Work:
    # input, skip, gamma, beta, bias
    return counts.Work(input_sizes(reader), 1 + _MOMENTS + 2 + reader.has(3) + reader.has(4))


def _skip_simplified_work(reader: NodeReader) -> counts.Work:
    # input, skip, gamma, bias
    return counts.Work(input_sizes(reader), 1 + 4 + reader.has(3))


def _microsoft_group_work(reader: NodeReader) -> counts.Work:
    # The activation is Swish with a factor of 1.
    return counts.Work(input_sizes(reader), _MOMENTS + 3 + 2 * reader.flag("activation"))


def _negative_log_likelihood_work(reader: NodeReader) -> counts.Work:
    """For each target: negate, multiply by its weight, add."""
    summed = reader.text("reduction", "mean") != "none"
    return counts.Work(input_sizes(reader, 1), 1 + reader.has(2) + summed)


# --- what reductions, scans and sorting take ---


def _top_work(reader: NodeReader) -> counts.Work:
    """Each element is compared along a path in a heap of the best elements so far."""
    _, best = counts.before_and_after(reader)[axis_at(reader, -1, len(input_sizes(reader)))]
    return counts.Work(input_sizes(reader), counts.steps_of_halving(best + 1))


def _sorted_work(reader: NodeReader) -> counts.Work:
    sizes = input_sizes(reader)
    return counts.Work(sizes, counts.steps_of_halving(reader.inputs[0].elements))


def _suppression_work(reader: NodeReader) -> counts.Work:
    """Boxes are sorted by score; the number of box comparisons depends on the data."""
    scores = input_sizes(reader, 1)
    return counts.Work(scores, counts.steps_of_halving(scores[-1]) if scores else 1)


def _draws_work(reader: NodeReader) -> counts.Work:
    # The cumulative sum over classes, in which each draw is looked up.
    classes = input_sizes(reader)[-1:]
    return counts.Work(counts.output_sizes(reader), sum(classes) or 1)


def _determinant_work(reader: NodeReader) -> counts.Work:
    """Elimination: each of the k rows below a pivot takes a division and k products and sums."""
    sizes = input_sizes(reader)
    size = sizes[-1] if sizes else 1
    return counts.Work(sizes[:-2], max(1, 2 * (size**3 - size) // 3))


def _fourier_work(reader: NodeReader) -> counts.Work:
    """A fast transform of n complex numbers: ``5 n log2 n`` real operations (Van Loan, 1992)."""
    longest = tuple(map(max, counts.before_and_after(reader)))
    # From operator set 20 on, the axis is an input; it only matters if there are several axes.
    length = (
        max(longest[:-1], default=1)
        if reader.has(2)
        else longest[axis_at(reader, -2, len(input_sizes(reader)))]
    )
    return counts.Work(longest[:-1], 5 * counts.steps_of_halving(length))


# --- which axes are read ---


def _over(reader: NodeReader, whole: Iterable[int]) -> VectorReads:
    """The reads of the first input, which has the output's sizes, with some axes whole."""
    rank, wide = len(output_sizes(reader)), frozenset(whole)
    check_fits(reader, len(input_sizes(reader)) == rank)
    names = names_with(rank, wide)
    return VectorReads(names, {0: output_indices(names, wide)})


def _axis_reads(default: int) -> ReadRule:
    """The rule of operators that need the whole axis given by an attribute."""
    return lambda reader: _over(reader, {axis_at(reader, default, len(input_sizes(reader)))})


def _softmax_reads(reader: NodeReader) -> VectorReads:
    rank = len(input_sizes(reader))
    if reader.graph.version >= _ONE_AXIS and not reader.node.proto.domain:
        return _axis_reads(-1)(reader)
    return _over(reader, range(axis_at(reader, 1, rank), rank))


def _layer_reads(reader: NodeReader) -> VectorReads:
    """Rows from an axis on, with scale and bias by element."""
    output = output_sizes(reader)
    rank = len(output)
    reads = _over(reader, range(axis_at(reader, -1, rank), rank))
    return _with_scales(reader, reads, 1, 2)


def _with_scales(reader: NodeReader, reads: VectorReads, *positions: int) -> VectorReads:
    output = output_sizes(reader)
    scales = {
        i: broadcast_indices(reads.names, output, input_sizes(reader, i))
        for i in positions
        if reader.has(i)
    }
    return VectorReads(reads.names, {**reads.inputs, **scales})


def _skip_layer_reads(*scales: int) -> ReadRule:
    """Rows of the sum of the first two inputs."""

    def rule(reader: NodeReader) -> VectorReads:
        output, skip = output_sizes(reader), input_sizes(reader, 1)
        reads = _over(reader, {len(output) - 1})
        added = (*broadcast_indices(reads.names, output, skip)[:-1], None)
        whole = VectorReads(reads.names, {**reads.inputs, 1: added})
        return _with_scales(reader, whole, *scales)

    return rule


def _of_channels(reader: NodeReader, whole: Iterable[int], scales: Iterable[int]) -> VectorReads:
    """Some axes whole, and scales for each channel (the second axis)."""
    output, wide = output_sizes(reader), frozenset(whole)
    names = names_of(len(output))
    channel: Axes = (loop_index(names[1]),) if len(names) > 1 else (None,)
    given = [i for i in scales if reader.has(i) and input_sizes(reader, i) == output[1:2]]
    return VectorReads(names, {0: output_indices(names, wide), **dict.fromkeys(given, channel)})


def _instance_reads(reader: NodeReader) -> VectorReads:
    return _of_channels(reader, range(2, len(output_sizes(reader))), (1, 2))


def _group_reads(reader: NodeReader) -> VectorReads:
    """All channels of a group together."""
    output, groups = output_sizes(reader), reader.integer("num_groups", 1)
    first = 2 if output[1:2] == (groups,) else 1
    return _of_channels(reader, range(first, len(output)), (1, 2))


def _images_reads(reader: NodeReader) -> VectorReads:
    """Whole images, wherever their channels are."""
    return _over(reader, range(1, len(output_sizes(reader))))


def _batch_reads(reader: NodeReader) -> VectorReads:
    rank = len(output_sizes(reader))
    old = reader.graph.version < _NO_TRAINING and not reader.flag("is_test")
    training = old or reader.flag("training_mode") or len(reader.outputs) > 1
    whole = (axis for axis in range(rank) if axis != 1) if training else ()
    return _of_channels(reader, whole, (1, 2, 3, 4))


def _mean_variance_reads(reader: NodeReader) -> VectorReads:
    rank = len(output_sizes(reader))
    axes = reader.integer_list("axes") or (0, 2, 3)
    return _over(reader, (normalize_axis(reader, axis, rank) for axis in axes))


def _loss_reads(reader: NodeReader) -> VectorReads:
    """The scores of all classes and the label of each position."""
    output, scores, labels = (output_sizes(reader), input_sizes(reader), input_sizes(reader, 1))
    check_fits(reader, output == labels and len(scores) == len(labels) + 1)
    batch, *others = row_names(len(output))
    return VectorReads(
        (batch, *others),
        {
            0: (loop_index(batch), None, *output_indices(others)),
            1: output_indices((batch, *others)),
        },
    )


def _reduce_reads(reader: NodeReader) -> VectorReads:
    """The axes of the attribute or input ``axes``; with ``keepdims`` they follow from sizes."""
    before, after = input_sizes(reader), output_sizes(reader)
    if len(before) == len(after):
        pairs = enumerate(zip(before, after, strict=True))
        return _over(reader, [axis for axis, (a, b) in pairs if a != b])
    rank = len(before)
    inputs = -1 if reader.node.proto.domain else 1
    axes = reader.integer_list("axes") if inputs < 0 else attribute_or_input(reader, "axes", inputs)
    return _lost(reader, {normalize_axis(reader, axis, rank) for axis in axes or range(rank)})


def _best_reads(reader: NodeReader) -> VectorReads:
    """The position of the largest or smallest element along an axis."""
    rank = len(input_sizes(reader))
    axis = axis_at(reader, 0, rank)
    return _over(reader, {axis}) if len(output_sizes(reader)) == rank else _lost(reader, {axis})


def _lost(reader: NodeReader, axes: Iterable[int]) -> VectorReads:
    """Whole axes that the output does not have."""
    before, after, lost = input_sizes(reader), output_sizes(reader), frozenset(axes)
    kept = tuple(size for axis, size in enumerate(before) if axis not in lost)
    check_fits(reader, kept == after)
    names = names_of(len(after))
    left = iter(names)
    return VectorReads(
        names, {0: tuple(None if i in lost else loop_index(next(left)) for i in range(len(before)))}
    )


def _scan_reads(reader: NodeReader) -> VectorReads:
    axis = integers_at(reader, 1)
    rank = len(output_sizes(reader))
    return _over(reader, range(rank) if not axis else {normalize_axis(reader, axis[0], rank)})


def _determinant_reads(reader: NodeReader) -> VectorReads:
    rank = len(input_sizes(reader))
    return _lost(reader, {rank - 1, rank - 2})


def _fourier_reads(reader: NodeReader) -> VectorReads:
    """One axis, and the real and imaginary parts."""
    rank = len(input_sizes(reader))
    attribute = not reader.has(2) and reader.graph.version < _AXIS_INPUT
    default = (reader.integer("axis", 1, least=-rank),) if attribute else (-2,)
    axis = integers_at(reader, 2) if reader.has(2) else default
    return _over(reader, (normalize_axis(reader, axis[0], rank), rank - 1) if axis else range(rank))


def _draws_reads(reader: NodeReader) -> VectorReads:
    check_fits(reader, len(output_sizes(reader)) == len(input_sizes(reader)) == 2)
    names = row_names(2)
    return VectorReads(names, {0: output_indices(names, {1})})


def _reduced_shape(node: TypedNode) -> Shape | None:
    shape = node.axes(0)
    stated = node.integers("axes") or tuple(range(len(shape)))
    axes = {axis % len(shape) for axis in stated if -len(shape) <= axis < len(shape)}
    keeps = node.integer("keepdims", 1)
    made = (1 if i in axes else n for i, n in enumerate(shape) if keeps or i not in axes)
    return tuple(made) if shape and len(axes) == len(stated) else None


def _each(operations: int, reads: ReadRule | None) -> Vector:
    return Vector(counts.over_input(operations), reads)


def _channels_or_groups(node: TypedNode) -> Iterable[int | None]:
    return [checks.size_at(node, 0, 1), node.integer("num_groups", 0)]


_SCALE: Final = "a scale"
_BIAS: Final = "a bias"
_SCALES: Final = checks.spreads(1, _SCALE, checks.first_shape)
_CHANNELS: Final = checks.extent(0, 1)
_SAME: Final = shapes.as_inputs(0)
_SUM_FOURTH: Final = shapes.as_inputs(0, None, None, 0)  # the sum with the skip connection
_SIMPLE: Final = "SimplifiedLayerNormalization"

NORMALIZATIONS: Final[Mapping[str, Operator]] = {
    "BatchNormalization": Operator(Vector(_batch_work, _batch_reads)),
    "LayerNormalization": Operator(
        Vector(_layer_work, _layer_reads),
        checks=(_SCALES, checks.spreads(2, _BIAS, checks.first_shape)),
    ),
    # square, add; times the row's factor, times the scale
    "RMSNormalization": Operator(
        _each(OPERATIONS["RMSNormalization"], _layer_reads), checks=(_SCALES,)
    ),
    **dict.fromkeys((_SIMPLE, f"{MICROSOFT}.{_SIMPLE}"), Operator(_each(4, _layer_reads), _SAME)),
    f"{MICROSOFT}.SkipLayerNormalization": Operator(
        Vector(_skip_layer_work, _skip_layer_reads(2, 3)), _SUM_FOURTH
    ),
    f"{MICROSOFT}.Skip{_SIMPLE}": Operator(
        Vector(_skip_simplified_work, _skip_layer_reads(2)), _SUM_FOURTH
    ),
    # times the row's factor, times the scale, bias
    "InstanceNormalization": Operator(
        _each(_MOMENTS + 3, _instance_reads),
        checks=(checks.one_axis(1, _SCALE, _CHANNELS), checks.one_axis(2, _BIAS, _CHANNELS)),
    ),
    "GroupNormalization": Operator(
        _each(_MOMENTS + 3, _group_reads),
        _SAME,
        checks=(
            checks.one_axis(1, _SCALE, _channels_or_groups),
            checks.one_axis(2, _BIAS, _channels_or_groups),
        ),
    ),
    f"{MICROSOFT}.GroupNorm": Operator(Vector(_microsoft_group_work, _images_reads), _SAME),
    "MeanVarianceNormalization": Operator(_each(_MOMENTS + 1, _mean_variance_reads), _SAME),
    "LpNormalization": Operator(_each(3, _axis_reads(-1))),  # power, add; divide
    "Softmax": Operator(_each(OPERATIONS["Softmax"], _softmax_reads)),
    "LogSoftmax": Operator(_each(5, _softmax_reads)),  # maximum, subtract, exp, add, subtract
    "Hardmax": Operator(_each(2, _softmax_reads)),  # maximum, compare
    f"{MICROSOFT}.BiasSoftmax": Operator(_each(6, _softmax_reads), _SAME),
    # dequantize (2), Softmax, quantize (4)
    f"{MICROSOFT}.QLinearSoftmax": Operator(_each(11, _softmax_reads), _SAME, ElementSource(4)),
    # smallest, largest; divide, round, add, saturate
    "DynamicQuantizeLinear": Operator(_each(6, None)),
    "SoftmaxCrossEntropyLoss": Operator(_each(5, _loss_reads)),  # LogSoftmax
    "NegativeLogLikelihoodLoss": Operator(Vector(_negative_log_likelihood_work, _loss_reads)),
}
"""Normalizations, Softmax and losses, most counted over the elements of their input."""

REDUCTIONS: Final[Mapping[str, Operator]] = {
    **dict.fromkeys(
        ("ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd"),
        Operator(_each(1, _reduce_reads), folds=Folding.VALUES),
    ),
    "ReduceLogSum": Operator(_each(1, _reduce_reads)),
    "ReduceL1": Operator(_each(2, _reduce_reads)),  # absolute value, add
    "ReduceL2": Operator(_each(2, _reduce_reads)),  # square, add
    "ReduceSumSquare": Operator(_each(2, _reduce_reads)),
    "ReduceLogSumExp": Operator(_each(4, _reduce_reads)),  # maximum, subtract, exp, add
    f"{MICROSOFT}.QLinearReduceMean": Operator(
        _each(1, _reduce_reads), shapes.shaped(_reduced_shape), ElementSource(4)
    ),
    **dict.fromkeys(("ArgMax", "ArgMin"), Operator(_each(1, _best_reads), folds=Folding.VALUES)),
    "CumSum": Operator(_each(1, _scan_reads), folds=Folding.VALUES),
    "CumProd": Operator(_each(1, _scan_reads)),
    "NonZero": Operator(_each(1, None), folds=Folding.OPEN),
    "TopK": Operator(Vector(_top_work, _axis_reads(-1)), folds=Folding.VALUES),
    "Unique": Operator(Vector(_sorted_work), folds=Folding.OPEN),
    f"{MICROSOFT}.Unique": Operator(Vector(_sorted_work)),
    "NonMaxSuppression": Operator(Vector(_suppression_work)),
    "Multinomial": Operator(Vector(_draws_work, _draws_reads)),
    "Det": Operator(Vector(_determinant_work, _determinant_reads)),
    "DFT": Operator(Vector(_fourier_work, _fourier_reads)),
}
"""Reductions, scans and sorting, most counted over the elements of their input."""
