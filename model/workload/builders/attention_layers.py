"""The builder for attention, from the shapes of queries, keys and values."""

from __future__ import annotations

from nestmap.model.base import copy_with
from nestmap.model.workload.builders.access import elementwise_nest
from nestmap.model.workload.builders.operands import (
    EIGHT_BIT,
    LayerDraft,
    Precision,
    Shape,
    Source,
    format_sizes,
    source_name,
)
from nestmap.model.workload.graph import LayerNode, Node, VectorNode
from nestmap.model.workload.loop_nests import matrix_product
from nestmap.model.workload.operation_counts import OPERATIONS, SCALE_OPERATIONS
from nestmap.model.workload.tensor import Tensor


def attention(
    name: str,
    queries: Shape,
    keys: Shape | None = None,
    values: Shape | None = None,
    *,
    sources: tuple[Source, Source, Source] = (None, None, None),
    precision: Precision = EIGHT_BIT,
) -> tuple[Node, ...]:
    """Scaled dot-product attention: scores, Softmax, and their product with the values.

    The last node has the given name. Masked scores count, because the array computes all scores.

    >>> scores, softmax, values = attention("bert", (1, 12, 384, 64))
    >>> scores.name, softmax.name, values.name
    ('bert/scores', 'bert/softmax', 'bert')
    >>> decode = attention("llama", (1, 64, 1, 128), (1, 8, 4096, 128))
    >>> sum(node.layer.macs for node in decode if isinstance(node, LayerNode))
    67108864

    Args:
        name: the name of the attention in the network and in results.
        queries: batch, heads, length, head size.
        keys: batch, heads, length, head size. With fewer heads than the queries, groups of query
            heads share a key head. ``None``: the shape of ``queries``.
        values: as ``keys``, except for the head size; ``None``: the shape of ``keys``.
        sources: the producers of queries, keys and values.
        precision: bits per element; all count as activations.

    Raises:
        InputError: if the shapes do not match.
    """
    draft = LayerDraft("attention", name, "MatMul", precision)
    q, k, v = _check_shapes(draft, queries, keys, values)
    roles = zip(("queries", "keys", "values"), sources, (q, k, v), strict=True)
    read = [draft.tensor(source_name(source) or f"{name}.{role}", x) for role, source, x in roles]
    score = draft.with_name(f"{name}/scores")
    softmax = _softmax(f"{name}/softmax", draft.tensor(score.name, (*q[:3], k[2])))
    left, right = _batch_axes(q, k)
    by_keys = matrix_product({"C": q[3], "D": q[2], "K": k[2]}, left, right)
    by_values = matrix_product({"C": k[2], "D": q[2], "K": v[3]}, left, right)
    return (
        LayerNode(
            layer=score.layer(by_keys, {"I": sources[0], "W": sources[1]}),
            inputs=(read[0], read[1]),
            outputs=softmax.inputs,
        ),
        softmax,
        LayerNode(
            layer=draft.layer(by_values, {"I": softmax.name, "W": sources[2]}),
            inputs=(*softmax.outputs, read[2]),
            outputs=(draft.tensor(name, (*q[:3], v[3])),),
        ),
    )


def _softmax(name: str, scores: Tensor) -> VectorNode:
    """Softmax over scaled scores, a tensor named after the node that produces it."""
    return VectorNode(
        name=name,
        operator="Softmax",
        sources=(scores.name,),
        iterations=scores.sizes or (),
        operations=SCALE_OPERATIONS + OPERATIONS["Softmax"],
        inputs=(scores,),
        outputs=(copy_with(scores, {"name": name}),),
        nest=elementwise_nest(scores.sizes or (), (scores.sizes or (),), rows=True),
    )


def _check_shapes(
    draft: LayerDraft, queries: Shape, keys: Shape | None, values: Shape | None
) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
    """The sizes of queries, keys and values, with defaults filled in."""
    axes = ("batch", "heads", "length", "head size")
    q = draft.check_axes("queries", queries, axes)
    k = draft.check_axes("keys", q if keys is None else keys, axes)
    v = draft.check_axes("values", k if values is None else values, axes)
    if k[0] != q[0] or k[3] != q[3] or q[1] % k[1]:
        raise draft.error(
            f"queries {format_sizes(q)} and keys {format_sizes(k)}",
            "the same batch and head size, and heads that share the keys in equal groups",
        )
    if v[:3] != k[:3]:
        raise draft.error(
            f"keys {format_sizes(k)} and values {format_sizes(v)}",
            "the same batch, heads and length",
        )
    return q, k, v


def _batch_axes(queries: Shape, keys: Shape) -> tuple[Shape, Shape]:
    """The batch axes of queries and keys; heads that share keys are an additional axis."""
    batch, heads = keys[:2]
    if queries[1] == heads:
        return (batch, heads), (batch, heads)
    return (batch, heads, queries[1] // heads), (batch, heads, 1)
