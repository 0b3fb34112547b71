"""Converts matrix products to layers: Gemm, MatMul, and their integer and quantized forms.

The first matrix is ``I``, the second ``W``, whichever of them is constant. An input is only indexed
by its own batch axes, so a broadcast input is reused, also if Expand has repeated it before.
(ZigZag indexes ``W`` by batch axes only if a node produces it.)
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, final

import onnx
from onnx import helper

from nestmap.model.workload.graph import Node
from nestmap.model.workload.loop_nests import matrix_product, with_right_first
from nestmap.pipeline.frontend.onnx.load.opsets import MICROSOFT
from nestmap.pipeline.frontend.onnx.load.shapes import Shape, Sizes, TypedNode, shape_text
from nestmap.pipeline.frontend.onnx.node.broadcast_axes import split_alike, unrepeated_axes
from nestmap.pipeline.frontend.onnx.node.node_expansion import Value, single_layer, value
from nestmap.pipeline.frontend.onnx.node.reader import NodeReader
from nestmap.pipeline.frontend.onnx.operators import checks
from nestmap.pipeline.frontend.onnx.operators import output_shapes as shapes
from nestmap.pipeline.frontend.onnx.operators.output_shapes import ElementSource
from nestmap.pipeline.frontend.onnx.operators.record import Layers, Operator


@final
@dataclass(frozen=True)
class MatrixPositions:
    """The positions of the matrices among the inputs, and the bits the node quantizes them to."""

    left: int = 0
    right: int = 1
    left_bits: int | None = None
    right_bits: int | None = None

    def values(self, node: NodeReader) -> Mapping[str, Value]:
        """The tensors that the operands read."""
        left, right = value(node, self.left), value(node, self.right)
        return {
            "I": left if self.left_bits is None else left.of_bits(self.left_bits),
            "W": right if self.right_bits is None else right.of_bits(self.right_bits),
        }


FIRST_TWO: Final = MatrixPositions()


def _gemm(node: NodeReader, places: MatrixPositions = FIRST_TWO) -> tuple[Node, ...]:
    """Converts a Gemm node; transposed inputs are read as their transposes."""
    left, right = node.sizes(places.left), node.sizes(places.right)
    for sizes in (left, right):
        if len(sizes) != 2:
            raise node.error(f"an input of shape {shape_text(sizes)}", "two matrices")
    if node.flag("transA"):
        left = left[::-1]
    if node.flag("transB"):
        right = right[::-1]
    nodes = _product(node, left, right, places)
    node.check_output((left[0], right[1]))
    return nodes


def _matmul(node: NodeReader, places: MatrixPositions = FIRST_TWO) -> tuple[Node, ...]:
    """Converts a MatMul node; a vector counts as a matrix with one row or column."""
    left, right = node.sizes(places.left), node.sizes(places.right)
    return _stacked(node, left, right, places)


def _fused_matmul(node: NodeReader) -> tuple[Node, ...]:
    """Converts a FusedMatMul node: a MatMul of transposed matrices, or stacks with rows first."""
    left, right = (_transposed(node, node.sizes(position), "AB"[position]) for position in range(2))
    return _stacked(node, left, right, FIRST_TWO)


def _matmul_nbits(node: NodeReader) -> tuple[Node, ...]:
    """Converts a MatMulNBits node with packed weights: ``K`` rows, ``N`` columns, ``bits`` each.

    Scales and zero points of the weights' blocks are not counted.
    """
    inner, columns = node.integer("K", 0), node.integer("N", 0)
    if not inner or not columns:
        raise node.error(f"K {inner} and N {columns}", "both attributes")
    places = MatrixPositions(right_bits=node.integer("bits", 4))
    return _stacked(node, node.sizes(0), (inner, columns), places)


def _transposed(node: NodeReader, sizes: Sizes, which: str) -> Sizes:
    if len(sizes) > 2 and node.flag(f"transBatch{which}"):
        sizes = (*sizes[1:-1], sizes[0], sizes[-1])
    if len(sizes) > 1 and node.flag(f"trans{which}"):
        sizes = (*sizes[:-2], sizes[-1], sizes[-2])
    return sizes


def _stacked(
    node: NodeReader, left: Sizes, right: Sizes, places: MatrixPositions
) -> tuple[Node, ...]:
    if not left or not right:
        raise node.error("a scalar input", "vectors, matrices or stacks of matrices")
    rows, columns = left[-2:-1], right[-1:] if len(right) > 1 else ()
    whole = (left if rows else (1, *left), right if columns else (*right, 1))
    nodes = _product(node, *whole, places)
    node.check_output((*_batch(node, left[:-2], right[:-2]), *rows, *columns))
    return nodes


def _product(
    node: NodeReader, left: Sizes, right: Sizes, places: MatrixPositions
) -> tuple[Node, ...]:
    """The product of two stacks of matrices; a constant is the weight, on either side."""
    (d, c), (inner, k) = left[-2:], right[-2:]
    if c != inner:
        raise node.error(
            f"inputs {shape_text(left)} and {shape_text(right)}, "
            f"whose inner dimensions are {c} and {inner}",
            "the same inner dimension",
        )
    _batch(node, left[:-2], right[:-2])
    stacks = _without_repeats(node, left[:-2], right[:-2], places)
    values = places.values(node)
    if values["I"].tensor.constant and not values["W"].tensor.constant:
        nest = with_right_first(matrix_product({"C": c, "D": k, "K": d}, *stacks[::-1]))
        return single_layer(node, nest, {"I": values["W"], "W": values["I"]})
    return single_layer(node, matrix_product({"C": c, "D": d, "K": k}, *stacks), values)


def _without_repeats(
    node: NodeReader, left: Sizes, right: Sizes, places: MatrixPositions
) -> tuple[Sizes, Sizes]:
    """The batch axes of the inputs, split where an input repeats its values along a part."""
    repeats = node.graph.repeated_axes
    names = node.input(places.left), node.input(places.right)
    if not repeats.keys() & names or node.flag("transBatchA") or node.flag("transBatchB"):
        return left, right
    rank = max(len(left), len(right))
    one, two = (
        unrepeated_axes(_padded(own, rank)[: rank - len(own)])
        + repeats.get(name, unrepeated_axes(own))[: len(own)]
        for own, name in zip((left, right), names, strict=True)
    )
    sizes: list[tuple[int, int]] = []
    whole = zip(_padded(left, rank), _padded(right, rank), one, two, strict=True)
    for a, b, parts_a, parts_b in whole:
        split = split_alike(parts_a, parts_b) if a == b else None
        sizes.extend([(a, b)] if split is None or a == 1 else zip(*split, strict=True))
    return tuple(a for a, _ in sizes), tuple(b for _, b in sizes)


def _batch(node: NodeReader, left: Sizes, right: Sizes) -> Sizes:
    """The batch axes of the output, after broadcasting."""
    rank = max(len(left), len(right))
    pairs = zip(_padded(left, rank), _padded(right, rank), strict=True)
    sizes = tuple(b if a == 1 else a for a, b in pairs)
    for own in (left, right):
        if any(size not in (1, whole) for size, whole in zip(own[::-1], sizes[::-1], strict=False)):
            raise node.error(
                f"batch axes {shape_text(left)} and {shape_text(right)}",
                "axes that broadcast to each other",
            )
    return sizes


def _padded(sizes: Sizes, rank: int) -> Sizes:
    return (1,) * (rank - len(sizes)) + sizes


def _fused_shape(node: TypedNode) -> Iterator[shapes.ShapeSurrogate]:
    given: dict[str, onnx.TypeProto] = {}
    for position, which in enumerate("AB"):
        shape = node.axes(position)
        if len(shape) < 2:
            return
        if node.integer(f"transBatch{which}", 0):
            shape = (*shape[1:-1], shape[0], shape[-1])
        *stack, rows, columns = shape
        last = (columns, rows) if node.integer(f"trans{which}", 0) else (rows, columns)
        kind = helper.make_tensor_type_proto(node.element(position), (*stack, *last))
        given[f"operand {position}"] = kind
    made = node.proto.output[:1]
    yield shapes.ShapeSurrogate(helper.make_node("MatMul", list(given), made), given)


def _unpacked_shape(node: TypedNode) -> Shape | None:
    rows = node.shape(0)
    return (*rows[:-1], node.integer("N", 0)) if rows else None


def _at(
    form: Callable[[NodeReader, MatrixPositions], tuple[Node, ...]], places: MatrixPositions
) -> Layers:
    """The converter of a product whose matrices are quantized, or not the first two inputs."""
    return Layers(lambda reader: form(reader, places))


_NUMBERS: Final = (checks.numbers(0, 1),)
_GEMM: Final = (*_NUMBERS, checks.spreads(2, "a bias", TypedNode.output))
_MATMUL: Final = shapes.like("MatMul", 0, 1)
_FLOATS: Final = ElementSource(2, shapes.FLOAT)

MATRIX_PRODUCTS: Final[Mapping[str, Operator]] = {
    "Gemm": Operator(Layers(_gemm), checks=_GEMM),
    f"{MICROSOFT}.FusedGemm": Operator(Layers(_gemm), shapes.like("Gemm", 0, 1), checks=_GEMM),
    f"{MICROSOFT}.QGemm": Operator(
        _at(_gemm, MatrixPositions(0, 3)),
        shapes.like("Gemm", 0, 3),
        ElementSource(8, shapes.FLOAT),
        checks=(checks.numbers(0, 3), checks.spreads(6, "a bias", TypedNode.output)),
    ),
    **dict.fromkeys(("MatMul", "MatMulInteger"), Operator(Layers(_matmul), checks=_NUMBERS)),
    "QLinearMatMul": Operator(_at(_matmul, MatrixPositions(0, 3)), checks=(checks.numbers(0, 3),)),
    f"{MICROSOFT}.MatMulIntegerToFloat": Operator(
        Layers(_matmul), _MATMUL, _FLOATS, checks=_NUMBERS
    ),
    f"{MICROSOFT}.DynamicQuantizeMatMul": Operator(
        _at(_matmul, MatrixPositions(left_bits=8)), _MATMUL, _FLOATS, checks=_NUMBERS
    ),
    f"{MICROSOFT}.FusedMatMul": Operator(Layers(_fused_matmul), _fused_shape, checks=_NUMBERS),
    f"{MICROSOFT}.GemmFastGelu": Operator(Layers(_matmul), _MATMUL),
    **dict.fromkeys(
        (f"{MICROSOFT}.MatMulNBits", f"{MICROSOFT}.MatMulBnb4"),
        Operator(Layers(_matmul_nbits), shapes.shaped(_unpacked_shape)),
    ),
}
"""The matrix products."""
