"""Builders for matrix products, from the shapes of two matrices or stacks of matrices."""

from __future__ import annotations

from nestmap.model.workload.builders.operands import (
    EIGHT_BIT,
    LayerDraft,
    Precision,
    Shape,
    Source,
    format_sizes,
)
from nestmap.model.workload.layer import Layer
from nestmap.model.workload.loop_nests import LoopNest, matrix_product


def gemm(
    name: str,
    matrix: Shape,
    weights: Shape,
    *,
    source: Source = None,
    precision: Precision = EIGHT_BIT,
) -> Layer:
    """The product of a matrix and a matrix of weights.

    >>> fc = gemm("fc", (32, 2048), (2048, 1000))
    >>> fc.macs, fc.equation
    (65536000, 'O[d][k] += I[d][c] * W[c][k]')

    Args:
        name: how the layer is called in the network and in results.
        matrix: rows, inner elements.
        weights: inner elements, columns.
        source: the layer or node that makes the matrix; ``None``: it comes from outside.
        precision: bits of an element.

    Raises:
        InputError: where the parts do not go together.
    """
    draft = LayerDraft("gemm", name, "Gemm", precision)
    left = draft.check_axes("matrix", matrix, ("rows", "inner"))
    right = draft.check_axes("weights", weights, ("inner", "columns"))
    return draft.layer(_product(draft, left, right), {"I": source}, constant="W")


def linear(
    name: str,
    inputs: Shape,
    features: int,
    *,
    source: Source = None,
    precision: Precision = EIGHT_BIT,
) -> Layer:
    """A fully connected layer along the last axis: the same weights for all rows.

    >>> up = linear("up", (1, 384, 768), 3072)
    >>> up.macs, up.elements("W"), up.equation
    (905969664, 2359296, 'O[b][d][k] += I[b][d][c] * W[c][k]')

    Args:
        name: how the layer is called in the network and in results.
        inputs: any axes (batch, tokens), then the inputs of each row.
        features: outputs of each row.
        source: the layer or node that makes the inputs; ``None``: they come from outside.
        precision: bits of an element.

    Raises:
        InputError: where the parts do not go together.
    """
    draft = LayerDraft("linear", name, "MatMul", precision)
    left = draft.check_stack("inputs", inputs)
    (columns,) = draft.check_axes("features", (features,), ("outputs of a row",))
    return draft.layer(_product(draft, left, (left[-1], columns)), {"I": source}, constant="W")


def matmul(
    name: str,
    left: Shape,
    right: Shape,
    *,
    sources: tuple[Source, Source] = (None, None),
    precision: Precision = EIGHT_BIT,
) -> Layer:
    """The product of two matrices or stacks of matrices, neither of which is constant.

    >>> scores = matmul("scores", (1, 12, 384, 64), (1, 12, 64, 384))
    >>> scores.macs, scores.equation
    (113246208, 'O[b][h][d][k] += I[b][h][d][c] * W[b][h][c][k]')

    Args:
        name: how the layer is called in the network and in results.
        left: batch axes, rows, inner elements.
        right: batch axes, inner elements, columns. Batch axes are aligned at their ends; one of
            size 1, or that is not there, is broadcast.
        sources: what makes each of the two.
        precision: bits of an element; both count as activations.

    Raises:
        InputError: where the parts do not go together.
    """
    draft = LayerDraft("matmul", name, "MatMul", precision)
    nest = _product(draft, draft.check_stack("left", left), draft.check_stack("right", right))
    return draft.layer(nest, {"I": sources[0], "W": sources[1]})


def _product(draft: LayerDraft, left: Shape, right: Shape) -> LoopNest:
    (rows, inner), (other, columns) = left[-2:], right[-2:]
    if inner != other:
        raise draft.error(
            f"{format_sizes(left)} and {format_sizes(right)}, "
            f"whose inner sizes are {inner} and {other}",
            "the same inner size",
        )
    for a, b in zip(left[-3::-1], right[-3::-1], strict=False):
        if a != b and 1 not in (a, b):
            raise draft.error(
                f"batch axes {format_sizes(left[:-2])} and {format_sizes(right[:-2])}",
                "axes that are equal or 1, aligned at their ends",
            )
    return matrix_product({"C": inner, "D": rows, "K": columns}, left[:-2], right[:-2])
