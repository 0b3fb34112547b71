"""Determines the reads of elementwise operators: one element of each broadcast input."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import accumulate
from math import prod
from typing import Final

from nestmap.model.workload.affine import AffineIndex, Term
from nestmap.pipeline.frontend.onnx.access.axis_reads import (
    Axes,
    Names,
    ReadRule,
    VectorReads,
    broadcast_indices,
    loop_index,
    names_of,
    output_indices,
    row_names,
)
from nestmap.pipeline.frontend.onnx.load.shapes import Sizes
from nestmap.pipeline.frontend.onnx.node.reader import NodeReader
from nestmap.pipeline.frontend.onnx.node.static_values import (
    axis_at,
    check_fits,
    input_sizes,
    output_sizes,
)
from nestmap.pipeline.frontend.onnx.vector.elementwise import ELEMENTWISE


def pointwise(*positions: int) -> ReadRule:
    """The rule of operators that read one element of each of these inputs (default: all)."""

    def rule(reader: NodeReader) -> VectorReads:
        output = output_sizes(reader)
        names = names_of(len(output))
        chosen = positions or range(len(reader.node.proto.input))
        given = [position for position in chosen if reader.has(position)]
        return VectorReads(
            names, {i: broadcast_indices(names, output, input_sizes(reader, i)) for i in given}
        )

    return rule


def _scaled(reader: NodeReader) -> VectorReads:
    """Scales and zero points: a single one, one per index along an axis, or one per block."""
    output = output_sizes(reader)
    names = names_of(len(output))
    given = [position for position in (1, 2) if reader.has(position)]
    scales = {i: _scale(reader, names, output, input_sizes(reader, i)) for i in given}
    return VectorReads(names, {0: broadcast_indices(names, output, input_sizes(reader)), **scales})


def _scale(reader: NodeReader, names: Names, output: Sizes, sizes: Sizes) -> Axes:
    if prod(sizes) == 1:
        return (None,) * len(sizes)
    if len(sizes) == 1 != len(output):
        axis = axis_at(reader, 1, len(output))
        check_fits(reader, sizes[0] == output[axis])
        return (loop_index(names[axis]),)
    check_fits(reader, len(sizes) == len(output))
    pairs = enumerate(zip(sizes, output, strict=True))
    return output_indices(names, (axis for axis, (own, size) in pairs if own != size))


def _concatenated(reader: NodeReader) -> VectorReads:
    """QLinearConcat: every third input, starting with the third, concatenated."""
    output = output_sizes(reader)
    names = names_of(len(output))
    axis = axis_at(reader, 0, len(output))
    positions = range(2, len(reader.node.proto.input), 3)
    lengths = [input_sizes(reader, position)[axis] for position in positions]
    starts = accumulate(lengths, initial=0)
    inputs = dict[int, Axes]()
    for position, length, start in zip(positions, lengths, starts, strict=False):
        part = AffineIndex(
            terms=(Term(dimension=names[axis]),),
            size=length,
            padding=(start, output[axis] - start - length),
        )
        inputs[position] = tuple(
            part if i == axis else x for i, x in enumerate(output_indices(names))
        )
    return VectorReads(names, inputs)


def _rotary(reader: NodeReader) -> VectorReads:
    """The elements of a row are rotated in pairs, by angles that depend on the row."""
    output = output_sizes(reader)
    last = len(output) - 1
    names = row_names(len(output))
    return VectorReads(names, {0: output_indices(names, {last}), **dict(_angles(reader, names))})


def _angles(reader: NodeReader, names: Names) -> Iterator[tuple[int, Axes]]:
    microsoft = reader.node.proto.domain != ""
    places, tables = (1, (2, 3)) if microsoft else (3, (1, 2))
    rows = loop_index("B"), loop_index("D")
    if reader.has(places):
        if len(input_sizes(reader, places)) == 2 and "B" in names:
            yield places, rows
    elif "B" in names:
        yield from ((i, (*rows, None)) for i in tables if len(input_sizes(reader, i)) == 3)


_FIRST: Final = (
    *("Cast", "CastLike", "Bernoulli"),
    *(f"com.microsoft.QLinear{name}" for name in ("Sigmoid", "LeakyRelu")),
)

NESTS: Final[Mapping[str, ReadRule]] = {
    **dict.fromkeys(ELEMENTWISE, pointwise()),
    **dict.fromkeys(_FIRST, pointwise(0)),
    **dict.fromkeys(("com.microsoft.QLinearAdd", "com.microsoft.QLinearMul"), pointwise(0, 3)),
    "com.microsoft.QLinearWhere": pointwise(0, 1, 4),
    "com.microsoft.QLinearConcat": _concatenated,
    **dict.fromkeys(("QuantizeLinear", "com.microsoft.QuantizeLinear"), _scaled),
    **dict.fromkeys(("DequantizeLinear", "com.microsoft.DequantizeLinear"), _scaled),
    **dict.fromkeys(("RotaryEmbedding", "com.microsoft.RotaryEmbedding"), _rotary),
}
"""The read rules of elementwise operators."""
