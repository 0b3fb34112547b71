"""Determines the reads of elementwise operators: one element of each broadcast input."""

from collections.abc import Iterator, Mapping
from itertools import accumulate
from math import prod
from typing import Final

from nestmap.model.workload.affine import AffineIndex, Term
from nestmap.pipeline.frontend.onnx.load.shapes import Sizes
from nestmap.pipeline.frontend.onnx.node import static_values as static
from nestmap.pipeline.frontend.onnx.node.reader import NodeReader
from nestmap.pipeline.frontend.onnx.operators import axis_reads as reads
from nestmap.pipeline.frontend.onnx.operators.elementwise import ELEMENTWISE


def pointwise(*positions: int) -> reads.ReadRule:
    """The rule of operators that read one element of each of these inputs (default: all)."""

    def rule(reader: NodeReader) -> reads.VectorReads:
        output = static.output_sizes(reader)
        names = reads.names_of(len(output))
        chosen = positions or range(len(reader.node.proto.input))
        given = [position for position in chosen if reader.has(position)]
        return reads.VectorReads(
            names,
            {
                i: reads.broadcast_indices(names, output, static.input_sizes(reader, i))
                for i in given
            },
        )

    return rule


def _scaled(reader: NodeReader) -> reads.VectorReads:
    """Scales and zero points: a single one, one per index along an axis, or one per block."""
    output = static.output_sizes(reader)
    names = reads.names_of(len(output))
    given = [position for position in (1, 2) if reader.has(position)]
    scales = {i: _scale(reader, names, output, static.input_sizes(reader, i)) for i in given}
    return reads.VectorReads(
        names, {0: reads.broadcast_indices(names, output, static.input_sizes(reader)), **scales}
    )


def _scale(reader: NodeReader, names: reads.Names, output: Sizes, sizes: Sizes) -> reads.Axes:
    if prod(sizes) == 1:
        return (None,) * len(sizes)
    if len(sizes) == 1 != len(output):
        axis = static.axis_at(reader, 1, len(output))
        static.check_fits(reader, sizes[0] == output[axis])
        return (reads.loop_index(names[axis]),)
    static.check_fits(reader, len(sizes) == len(output))
    pairs = enumerate(zip(sizes, output, strict=True))
    return reads.output_indices(names, (axis for axis, (own, size) in pairs if own != size))


def _concatenated(reader: NodeReader) -> reads.VectorReads:
    """QLinearConcat: every third input, starting with the third, concatenated."""
    output = static.output_sizes(reader)
    names = reads.names_of(len(output))
    axis = static.axis_at(reader, 0, len(output))
    positions = range(2, len(reader.node.proto.input), 3)
    lengths = [static.input_sizes(reader, position)[axis] for position in positions]
    starts = accumulate(lengths, initial=0)
    inputs = dict[int, reads.Axes]()
    for position, length, start in zip(positions, lengths, starts, strict=False):
        part = AffineIndex(
            terms=(Term(dimension=names[axis]),),
            size=length,
            padding=(start, output[axis] - start - length),
        )
        inputs[position] = tuple(
            part if i == axis else x for i, x in enumerate(reads.output_indices(names))
        )
    return reads.VectorReads(names, inputs)


def _rotary(reader: NodeReader) -> reads.VectorReads:
    """The elements of a row are rotated in pairs, by angles that depend on the row."""
    output = static.output_sizes(reader)
    last = len(output) - 1
    names = reads.row_names(len(output))
    return reads.VectorReads(
        names, {0: reads.output_indices(names, {last}), **dict(_angles(reader, names))}
    )


def _angles(reader: NodeReader, names: reads.Names) -> Iterator[tuple[int, reads.Axes]]:
    microsoft = reader.node.proto.domain != ""
    places, tables = (1, (2, 3)) if microsoft else (3, (1, 2))
    rows = reads.loop_index("B"), reads.loop_index("D")
    if reader.has(places):
        if len(static.input_sizes(reader, places)) == 2 and "B" in names:
            yield places, rows
    elif "B" in names:
        yield from ((i, (*rows, None)) for i in tables if len(static.input_sizes(reader, i)) == 3)


_FIRST: Final = (
    *("Cast", "CastLike", "Bernoulli"),
    *(f"com.microsoft.QLinear{name}" for name in ("Sigmoid", "LeakyRelu")),
)

NESTS: Final[Mapping[str, reads.ReadRule]] = {
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
