"""Builds the core of attention: queries times keys, Softmax, probabilities times values.

Both products equal those of an attention written as separate MatMul nodes:
``O[b][h][d][k] += I[b][h][d][c] * W[b][h][c][k]`` with ``H`` heads. If several query heads share a
key head, ``H`` are the key heads and ``B3`` the query heads of each; keys and values are not
indexed by ``B3``. Masks do not reduce the products: masked scores are computed as well.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import final

from nestmap.model.workload.graph import Node
from nestmap.model.workload.loop_nests import LoopNest, matrix_product, with_right_transposed
from nestmap.model.workload.operation_counts import OPERATIONS, SCALE_OPERATIONS
from nestmap.pipeline.frontend.onnx.load.shapes import Sizes, shape_text
from nestmap.pipeline.frontend.onnx.node import node_expansion as expansion
from nestmap.pipeline.frontend.onnx.node.reader import NodeReader
from nestmap.pipeline.frontend.onnx.operators.axis_reads import softmax_nest
from nestmap.pipeline.frontend.onnx.operators.operand_routes import concat_routes


@final
@dataclass(frozen=True)
class Heads:
    """Queries, keys or values: a vector of ``size`` numbers for each batch, head and position."""

    batch: int
    heads: int
    length: int
    size: int
    value: expansion.Value

    @property
    def sizes(self) -> Sizes:
        """The sizes ``[batch, heads, length, size]``."""
        return self.batch, self.heads, self.length, self.size


@final
@dataclass(frozen=True)
class AttentionOperands:
    """The operands of an attention; ``extra`` operations per score besides scaling and Softmax."""

    query: Heads
    key: Heads
    values: Heads
    biases: tuple[expansion.Value, ...] = ()
    extra: int = 0


def heads_of(node: NodeReader, position: int, count: int) -> Heads:
    """An input of shape ``[batch, heads, length, size]`` or ``[batch, length, hidden]``.

    Args:
        node: the node.
        position: the position of the input.
        count: the number of heads of an input with three axes.

    Raises:
        InputError: if the input has another shape, or heads have different sizes.
    """
    sizes = node.sizes(position)
    if len(sizes) == 4:
        return Heads(*sizes, expansion.value(node, position))
    if len(sizes) != 3 or count < 1 or sizes[2] % count:
        raise node.error(
            f"an input of shape {shape_text(sizes)} and {count} heads",
            "[batch, heads, length, size], or [batch, length, hidden] and heads that divide hidden",
        )
    return Heads(sizes[0], count, sizes[1], sizes[2] // count, expansion.value(node, position))


def append_to_cache(
    node: NodeReader, new: Heads, past: int, suffix: str, *, shares_buffer: bool = False
) -> tuple[Heads, tuple[Node, ...]]:
    """Appends keys or values to a cache, if any; returns them and the node that joins them.

    Args:
        node: the node.
        new: the new keys or values.
        past: the position of the cache, an input ``[batch, heads, length, size]``.
        suffix: the name of the joining node within the ONNX node.
        shares_buffer: whether the cache is a buffer in which the new ones are: its whole length
            counts, and nothing is joined.

    Raises:
        InputError: if the cache has another shape.
    """
    old = node.extents(past) if node.has(past) else ()
    if not prod(old):
        return new, ()
    batch, heads, _, size = new.sizes
    if old and (len(old) != 4 or (*old[:2], old[3]) != (batch, heads, size)):
        raise node.error(
            f"a cache of shape {shape_text(old)}",
            f"{shape_text((batch, heads, None, size))}, as the new keys or values",
        )
    if not old:
        return new, ()
    if shares_buffer:
        return replace(new, length=old[2]), ()
    return _joined(node, new, expansion.value(node, past), suffix)


def _joined(
    node: NodeReader, new: Heads, past: expansion.Value, suffix: str
) -> tuple[Heads, tuple[Node, ...]]:
    length = new.length + (past.tensor.sizes or (0, 0, 0))[2]
    whole = (new.batch, new.heads, length, new.size)
    made = expansion.intermediate(node, suffix, whole, new.value.tensor.precision)
    routes = concat_routes(2, (past.tensor.sizes, new.value.tensor.sizes))
    joint = expansion.movement_part(node, "Concat", (past, new.value), made, routes)
    return replace(new, length=length, value=made), (joint,)


def attention_nodes(node: NodeReader, given: AttentionOperands) -> tuple[Node, ...]:
    """The nodes of an attention; the last one computes the outputs of the ONNX node.

    Raises:
        InputError: if the sizes of queries, keys and values do not fit.
    """
    _check(node, given)
    query, key, values = given.query, given.key, given.values
    bits = query.value.tensor.precision
    matrices = (query.batch, query.heads, query.length, key.length)
    scores, weights = (
        expansion.intermediate(node, part, matrices, bits) for part in ("scores", "softmax")
    )
    first = with_right_transposed(_product(query, key, (key.size, key.length)))
    second = _product(query, key, (key.length, values.size))
    work = (matrices, SCALE_OPERATIONS + OPERATIONS["Softmax"] + given.extra)
    nest = softmax_nest(matrices, [bias.tensor.sizes for bias in given.biases])
    return (
        expansion.layer_node(node, first, {"I": query.value, "W": key.value}, scores),
        expansion.vector_part(node, "Softmax", work, (scores, *given.biases), weights, nest),
        expansion.layer_node(node, second, {"I": weights, "W": values.value}),
    )


def output_sizes(given: AttentionOperands, *, flat: bool) -> Sizes:
    """The output shape: ``[batch, length, hidden]`` if flat, else with an axis of heads."""
    query, size = given.query, given.values.size
    if flat:
        return query.batch, query.length, query.heads * size
    return query.batch, query.heads, query.length, size


def _product(query: Heads, key: Heads, inner_and_columns: tuple[int, int]) -> LoopNest:
    inner, columns = inner_and_columns
    sizes = {"C": inner, "D": query.length, "K": columns}
    stack, shared = (query.batch, key.heads), query.heads // key.heads
    if shared == 1:
        return matrix_product(sizes, stack, stack)
    return matrix_product(sizes, (*stack, shared), (*stack, 1))


def _check(node: NodeReader, given: AttentionOperands) -> None:
    query, key, values = given.query, given.key, given.values
    fits = query.batch == key.batch and query.size == key.size and not query.heads % key.heads
    if not fits or key.sizes[:3] != values.sizes[:3]:
        shapes: Sequence[str] = [shape_text(each.sizes) for each in (query, key, values)]
        raise node.error(
            f"queries, keys and values [batch, heads, length, size] {', '.join(shapes)}",
            "equal batches, sizes of queries and keys, lengths and heads of keys and values, "
            "and a number of query heads that key heads divide",
        )
