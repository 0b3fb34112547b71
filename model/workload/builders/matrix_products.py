"""Builders for matrix products and attention, from shapes, and for networks of layers."""

from collections.abc import Sequence

from nestmap.model.base import copy_with
from nestmap.model.dims import Loop
from nestmap.model.workload.access import InputAccess, Tensor, VectorNest
from nestmap.model.workload.affine import AffineIndex, Term
from nestmap.model.workload.builders.operands import (
    EIGHT_BIT,
    LayerDraft,
    NetworkPart,
    Precision,
    Shape,
    Source,
    format_sizes,
    source_name,
)
from nestmap.model.workload.graph import LayerNode, Node, VectorNode, Workload
from nestmap.model.workload.layer import Layer
from nestmap.model.workload.loop_nests import (
    LoopNest,
    batch_names,
    matrix_product,
    with_right_transposed,
)
from nestmap.model.workload.operation_counts import OPERATIONS, SCALE_OPERATIONS

# --- the loop nests of operators whose output has the sizes of their first input ---

Sizes = Sequence[int]


def elementwise_nest(output: Sizes, inputs: Sequence[Sizes], *, rows: bool = False) -> VectorNest:
    """The nest of an element-wise operator or, with ``rows``, of a row-wise one.

    Smaller inputs are broadcast; an input that does not fit is read as a whole.

    Args:
        output: the sizes of the output.
        inputs: the sizes of the inputs.
        rows: whether each element depends on all elements along the last axis.
    """
    rank = len(output)
    names = (*batch_names(max(0, rank - 2)), *("D", "K")[max(0, 2 - rank) :])
    indices = tuple(AffineIndex(terms=(Term(dimension=name),)) for name in names)
    return VectorNest(
        loops=tuple(Loop(dimension=d, size=n) for d, n in zip(names, output, strict=True)),
        output=indices,
        inputs=tuple(_access(indices, output, sizes, rows) for sizes in inputs),
    )


def _access(
    indices: Sequence[AffineIndex], output: Sizes, sizes: Sizes, rows: bool
) -> InputAccess | None:
    missing = len(output) - len(sizes)
    if missing < 0 or any(n not in (1, m) for n, m in zip(sizes, output[missing:], strict=True)):
        return None
    last = len(sizes) - 1
    axes = tuple(
        None if n != output[missing + axis] or (rows and axis == last) else indices[missing + axis]
        for axis, n in enumerate(sizes)
    )
    return InputAccess(axes=axes)


# --- the builder for networks: layers and nodes, connected by the sources they name ---


def network(name: str, *parts: NetworkPart | tuple[NetworkPart, ...]) -> Workload:
    """A network of layers and nodes, in any order, connected by their sources.

    >>> from nestmap.model.workload.builders import conv2d
    >>> c1 = conv2d("c1", (1, 3, 32, 32), (16, 3, 3, 3), padding=1)
    >>> c2 = conv2d("c2", (1, 16, 32, 32), (32, 16, 3, 3), padding=1, source=c1)
    >>> mine = network("mine", c1, c2)
    >>> mine.macs, mine.readers
    (5160960, {'c1': ('c2',), 'c2': ()})

    Raises:
        pydantic.ValidationError: if two parts have the same name, or a source is missing.
    """
    flat = (part for given in parts for part in (given if isinstance(given, tuple) else (given,)))
    return Workload.of(*flat, name=name)


# --- the builder for attention, from the shapes of queries, keys and values ---


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
    by_keys = with_right_transposed(matrix_product({"C": q[3], "D": q[2], "K": k[2]}, left, right))
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


# --- builders for matrix products, from the shapes of two matrices or stacks of matrices ---


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
