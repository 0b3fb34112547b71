"""Layers of Gemm and MatMul nodes: products of (stacks of) matrices.

``O[..][d][k] += I[..][d][c] * W[..][c][k]``: the first input is ``I``, the second ``W``, whichever
of them is constant. Batch axes become the dimensions ``B``, ``H`` and, further in, ``B3``, ``B4``;
an input is indexed by those that it really has, so a broadcast one is reused. (ZigZag indexes
``W`` by them only where a node produces it.)
"""

from __future__ import annotations

from collections.abc import Iterator

from nestmap.model import Layer, Loop
from nestmap.pipeline.parsers.onnx.reader import NodeReader, plain_indices
from nestmap.pipeline.parsers.onnx.shapes import Sizes, text


def gemm_layer(node: NodeReader) -> Layer:
    """The layer of a Gemm node; transposed inputs count as their transposes.

    Raises:
        InputError: where shapes or attributes do not fit.
    """
    left, right = node.sizes(0), node.sizes(1)
    for sizes in (left, right):
        if len(sizes) != 2:
            raise node.error(f"an input of shape {text(sizes)}", "two matrices")
    if node.flag("transA"):
        left = left[::-1]
    if node.flag("transB"):
        right = right[::-1]
    layer = _product(node, left, right)
    node.check_output((left[0], right[1]))
    return layer


def matmul_layer(node: NodeReader) -> Layer:
    """The layer of a MatMul node; a vector counts as a matrix with one row or column.

    Raises:
        InputError: where shapes do not fit.
    """
    left, right = node.sizes(0), node.sizes(1)
    if not left or not right:
        raise node.error("a scalar input", "vectors, matrices or stacks of matrices")
    rows, columns = left[-2:-1], right[-1:] if len(right) > 1 else ()
    layer = _product(node, left if rows else (1, *left), right if columns else (*right, 1))
    node.check_output((*_batch(node, left[:-2], right[:-2]), *rows, *columns))
    return layer


def _product(node: NodeReader, left: Sizes, right: Sizes) -> Layer:
    """The layer of a product of two stacks of matrices."""
    (d, c), (inner, k) = left[-2:], right[-2:]
    if c != inner:
        raise node.error(
            f"inputs {text(left)} and {text(right)}, whose inner dimensions are {c} and {inner}",
            "the same inner dimension",
        )
    batch = _batch(node, left[:-2], right[:-2])
    names = _batch_names(len(batch))
    stack = dict(zip(names, batch, strict=True))
    loops = {"C": c, "D": d, "K": k} | stack
    own_left = tuple(_own(left[:-2], stack))
    own_right = tuple(_own(right[:-2], stack))
    return Layer(
        name=node.node.name,
        operator=node.node.operator,
        loops=tuple(Loop(dimension=name, size=size) for name, size in loops.items()),
        output=node.output_operand(plain_indices(*names, "D", "K")),
        inputs=(
            node.input_operand("I", 0, plain_indices(*own_left, "D", "C")),
            node.input_operand("W", 1, plain_indices(*own_right, "C", "K")),
        ),
    )


def _batch(node: NodeReader, left: Sizes, right: Sizes) -> Sizes:
    """The batch axes of the output, after broadcasting."""
    rank = max(len(left), len(right))
    pairs = zip(_padded(left, rank), _padded(right, rank), strict=True)
    sizes = tuple(b if a == 1 else a for a, b in pairs)
    for own in (left, right):
        if any(size not in (1, whole) for size, whole in zip(own[::-1], sizes[::-1], strict=False)):
            raise node.error(
                f"batch axes {text(left)} and {text(right)}", "axes that broadcast to each other"
            )
    return sizes


def _padded(sizes: Sizes, rank: int) -> Sizes:
    return (1,) * (rank - len(sizes)) + sizes


def _batch_names(count: int) -> tuple[str, ...]:
    return ("B", "H", *(f"B{i}" for i in range(3, count + 1)))[:count]


def _own(sizes: Sizes, stack: dict[str, int]) -> Iterator[str]:
    """The batch dimensions that an input has itself; it is repeated along the others."""
    names = tuple(stack)[len(stack) - len(sizes) :]
    return (name for name, size in zip(names, sizes, strict=True) if size == stack[name])
