"""Converts attention operators of the ONNX standard; see ``attention_core`` for the layers."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from nestmap.model.workload.graph import Node
from nestmap.model.workload.loop_nests import matrix_product
from nestmap.pipeline.frontend.onnx.load.opsets import MICROSOFT
from nestmap.pipeline.frontend.onnx.load.shapes import Shape, Sizes, TypedNode, shape_text
from nestmap.pipeline.frontend.onnx.node import node_expansion as expansion
from nestmap.pipeline.frontend.onnx.node.reader import NodeReader
from nestmap.pipeline.frontend.onnx.operators import output_shapes as shapes
from nestmap.pipeline.frontend.onnx.operators.attention_core import (
    AttentionOperands,
    Heads,
    append_to_cache,
    attention_nodes,
    heads_of,
    output_sizes,
)
from nestmap.pipeline.frontend.onnx.operators.output_shapes import ElementSource
from nestmap.pipeline.frontend.onnx.operators.record import Layers, Operator

_SOFTCAP = 3  # divide, tanh, multiply

# --- converts attention operators of ONNX Runtime; see ``attention_core`` for the layers ---
# The rotary embeddings of queries and keys in some of them are not counted.


def _projected_attention(
    node: NodeReader, masks: tuple[int, ...] = (3, 5), past: int = 4
) -> tuple[Node, ...]:
    """Converts an Attention node of ONNX Runtime, where one product gives queries, keys and values.

    ``masks`` are the positions of inputs that are added to scores, ``past`` that of the cache.
    """
    image, weight = node.sizes(0), node.sizes(1)
    if len(image) != 3 or len(weight) != 2 or image[2] != weight[0]:
        found = f"input {shape_text(image)} and weights {shape_text(weight)}"
        raise node.error(found, "[batch, length, hidden] and [hidden, queries + keys + values]")
    hidden = node.integers("qkv_hidden_sizes", (weight[1] // 3,) * 3)
    if sum(hidden) != weight[1]:
        raise node.error(f"{weight[1]} columns of weights", f"{shape_text(hidden)} of Q, K and V")
    made = expansion.intermediate(
        node, "projection", (*image[:2], weight[1]), node.tensor(0).precision
    )
    nest = matrix_product({"C": weight[0], "D": image[1], "K": weight[1]}, image[:1], ())
    projection = expansion.layer_node(
        node, nest, {"I": expansion.value(node, 0), "W": expansion.value(node, 1)}, made
    )
    query, key, values = (_heads(node, image[:2], size, made) for size in hidden)
    key, values, joints = _both_cached(node, key, values, past)
    given = AttentionOperands(query, key, values, _biases(node, *masks), _masks(node, *masks))
    node.check_output(output_sizes(given, flat=True))
    return (projection, *joints, *attention_nodes(node, given))


def _quantized_attention(node: NodeReader) -> tuple[Node, ...]:
    """Converts a QAttention node: an Attention node of quantized activations and weights."""
    return _projected_attention(node, masks=(5,), past=8)


def _multi_head_attention(node: NodeReader) -> tuple[Node, ...]:
    """Converts a MultiHeadAttention node, with separate or packed queries, keys and values."""
    count = node.integer("num_heads", 0, least=0)
    query, key, values = _apart(node, count)
    key, join_keys = append_to_cache(node, key, 6, "present_key")
    values, join_values = append_to_cache(node, values, 7, "present_value")
    given = AttentionOperands(query, key, values, _biases(node, 4, 5), _masks(node, 4, 5))
    nodes = attention_nodes(node, given)
    node.check_output(output_sizes(given, flat=True))
    return (*join_keys, *join_values, *nodes)


def _group_query_attention(node: NodeReader) -> tuple[Node, ...]:
    """Converts a GroupQueryAttention node, where several query heads share a key head.

    A SparseAttention node has the same inputs up to the cache; blocks of keys that its layout
    leaves out count, as masked scores do. The keys are those of ``present_key`` if its shape is
    known, else the past and the new ones. If past and present share a buffer, they are the whole
    buffer.
    """
    heads = node.integer("num_heads", 0, least=0)
    key_heads = node.integer("kv_num_heads", 0, least=0)
    query, key, values = _grouped(node, heads, key_heads)
    key, join_keys = append_to_cache(node, key, 3, "present_key")
    values, join_values = append_to_cache(node, values, 4, "present_value")
    present = node.output_extents(1)
    if len(present) == 4 and present[2] > 0:
        key, values = replace(key, length=present[2]), replace(values, length=present[2])
    given = AttentionOperands(
        query, key, values, (), 1 + _SOFTCAP * bool(node.number("softcap", 0.0))
    )
    nodes = attention_nodes(node, given)
    node.check_output(output_sizes(given, flat=True))
    return (*join_keys, *join_values, *nodes)


def _decoder_attention(node: NodeReader) -> tuple[Node, ...]:
    """Converts a DecoderMaskedMultiHeadAttention node: queries of one token, with a cache.

    Keys and values with four axes are those of an encoder. If past and present share a buffer, the
    keys are the whole buffer.
    """
    count = node.integer("num_heads", 0, least=0)
    query, key, values = _apart(node, count) if node.has(1) else _grouped(node, count, count)
    shares = node.flag("past_present_share_buffer")
    key, join_keys = append_to_cache(node, key, 5, "present_key", shares_buffer=shares)
    values, join_values = append_to_cache(node, values, 6, "present_value", shares_buffer=shares)
    given = AttentionOperands(query, key, values, _biases(node, 3, 4), _masks(node, 3, 4))
    nodes = attention_nodes(node, given)
    node.check_output(output_sizes(given, flat=True))
    return (*join_keys, *join_values, *nodes)


def _paged_attention(node: NodeReader) -> tuple[Node, ...]:
    """Converts a PagedAttention node, whose keys and values lie in blocks of a cache.

    Every token attends to all places of the blocks that the table has for its sequence; sequences
    have equally many tokens, if that is possible.
    """
    heads, key_heads = (node.integer(x, 0, least=1) for x in ("num_heads", "kv_num_heads"))
    read, cache, table = node.sizes(0), node.sizes(3), node.sizes(7)
    size = read[-1] // (heads if node.has(1) else heads + 2 * key_heads)
    fits = len(read) == 2 and len(table) == 2 and cache == (*cache[:2], key_heads, size)
    if not fits or node.sizes(4) != cache:
        shapes = ", ".join(shape_text(node.sizes(place)) for place in (0, 3, 4, 7))
        expected = f"[tokens, hidden], twice [blocks, places, {key_heads}, {size}], and a table"
        raise node.error(f"queries, caches and a table {shapes}", f"{expected} [sequences, blocks]")
    tokens = read[0]
    batch = table[0] if not tokens % table[0] else 1
    query = Heads(batch, heads, tokens // batch, size, expansion.value(node, 0))
    length = table[1] * cache[1]
    key, values = (
        Heads(batch, key_heads, length, size, expansion.value(node, place)) for place in (3, 4)
    )
    extra = _SOFTCAP * bool(node.number("softcap", 0.0))
    nodes = attention_nodes(node, AttentionOperands(query, key, values, (), extra))
    node.check_output((tokens, heads * size))
    return nodes


def _apart(node: NodeReader, count: int) -> tuple[Heads, Heads, Heads]:
    packed = node.sizes(0)
    if len(packed) == 5:  # [batch, length, heads, 3, size]
        batch, length, heads, _, size = packed
        whole = Heads(batch, heads, length, size, expansion.value(node, 0))
        return whole, whole, whole
    query, keys = heads_of(node, 0, count), node.sizes(1)
    if len(keys) == 5:  # [batch, length, heads, 2, size]
        batch, length, heads, _, size = keys
        both = Heads(batch, heads, length, size, expansion.value(node, 1))
        return query, both, both
    return query, heads_of(node, 1, count), heads_of(node, 2, count)


def _grouped(node: NodeReader, heads: int, key_heads: int) -> tuple[Heads, Heads, Heads]:
    if node.has(1):
        return heads_of(node, 0, heads), heads_of(node, 1, key_heads), heads_of(node, 2, key_heads)
    whole = heads_of(node, 0, heads + 2 * key_heads)
    key = replace(whole, heads=key_heads)
    return replace(whole, heads=heads), key, key


def _heads(node: NodeReader, outer: Sizes, hidden: int, made: expansion.Value) -> Heads:
    count = node.integer("num_heads", 0, least=0)
    if count < 1 or hidden % count:
        raise node.error(
            f"hidden size {hidden} for {count} heads", "a number of heads that divides it"
        )
    return Heads(outer[0], count, outer[1], hidden // count, made)


def _both_cached(
    node: NodeReader, key: Heads, values: Heads, past: int
) -> tuple[Heads, Heads, tuple[Node, ...]]:
    """Appends keys and values to those of ``past``: ``[2, batch, heads, length, size]``."""
    old = node.extents(past) if node.has(past) else ()
    if len(old) != 5 or not old[3]:
        return key, values, ()
    length = old[3] + key.length
    whole = (2, key.batch, key.heads, length, key.size)
    made = expansion.intermediate(node, "present", whole, key.value.tensor.precision)
    both = expansion.value(node, past), key.value
    joint = expansion.movement_part(node, "Concat", both, made)
    return (
        replace(key, length=length, value=made),
        replace(values, length=length, value=made),
        (joint,),
    )


def _biases(node: NodeReader, *positions: int) -> tuple[expansion.Value, ...]:
    return tuple(expansion.value(node, position) for position in positions if node.has(position))


def _masks(node: NodeReader, *positions: int) -> int:
    """Operations per score: one for each added mask or bias, and one if causal."""
    return sum(node.has(position) for position in positions) + node.flag("unidirectional")


# --- converts attention operators of the ONNX standard ---


def _attention(node: NodeReader) -> tuple[Node, ...]:
    """Converts an Attention node, with three or four axes, with or without a cache."""
    flat = len(node.sizes(0)) == 3
    query_heads = node.integer("q_num_heads", 0, least=0) if flat else 0
    key_heads = node.integer("kv_num_heads", 0, least=0) if flat else 0
    query = heads_of(node, 0, query_heads)
    key, join_keys = append_to_cache(node, heads_of(node, 1, key_heads), 4, "present_key")
    values, join_values = append_to_cache(node, heads_of(node, 2, key_heads), 5, "present_value")
    biases = (expansion.value(node, 3),) if node.has(3) else ()
    extra = len(biases) + node.flag("is_causal") + _SOFTCAP * bool(node.number("softcap", 0.0))
    given = AttentionOperands(query, key, values, biases, extra)
    nodes = attention_nodes(node, given)
    node.check_output(output_sizes(given, flat=flat))
    return (*join_keys, *join_values, *nodes)


def _flex_attention(node: NodeReader) -> tuple[Node, ...]:
    """Converts a FlexAttention node; its subgraphs, which modify scores, are not counted."""
    given = AttentionOperands(heads_of(node, 0, 0), heads_of(node, 1, 0), heads_of(node, 2, 0))
    nodes = attention_nodes(node, given)
    node.check_output(output_sizes(given, flat=False))
    return nodes


def _projected_shape(node: TypedNode) -> Shape | None:
    """One product gives query, key and value; the output is as wide as the value."""
    image, weights = node.axes(0), node.axes(1)
    stated = node.integers("qkv_hidden_sizes") or ()
    if len(weights) != 2 or not isinstance(weights[1], int) or len(stated) not in (0, 3):
        return None
    return (*image[:-1], stated[2] if stated else weights[1] // 3) if image else None


def _multi_head_shape(node: TypedNode) -> Shape | None:
    query, value = node.axes(0), node.axes(2)
    return (*query[:2], value[2]) if len(query) == len(value) == 3 else None


def _grouped_shape(node: TypedNode) -> Shape | None:
    """Without a key input, the first input packs queries, keys and values."""
    packed, heads = node.axes(0), node.integer("num_heads", 0)
    if node.has(1):
        return packed or None
    total = heads + 2 * node.integer("kv_num_heads", 0)
    if len(packed) not in (2, 3) or not isinstance(packed[-1], int) or total <= 0:
        return None
    return (*packed[:-1], packed[-1] // total * heads)


def _decoder_shape(node: TypedNode) -> Shape | None:
    """As wide as the value; one input packs query, key and value of equal widths."""
    packed = node.axes(0)
    if node.has(2):
        return _multi_head_shape(node) if len(node.axes(2)) == 3 else packed or None
    if len(packed) != 3 or not isinstance(packed[2], int):
        return None
    return (*packed[:2], packed[2] // 3)


ATTENTIONS: Final[Mapping[str, Operator]] = {
    "Attention": Operator(Layers(_attention)),
    "ai.onnx.preview.FlexAttention": Operator(Layers(_flex_attention)),
    f"{MICROSOFT}.Attention": Operator(
        Layers(_projected_attention), shapes.shaped(_projected_shape)
    ),
    f"{MICROSOFT}.QAttention": Operator(
        Layers(_quantized_attention),
        shapes.shaped(_projected_shape),
        ElementSource(3, shapes.FLOAT),
    ),
    f"{MICROSOFT}.MultiHeadAttention": Operator(
        Layers(_multi_head_attention), shapes.shaped(_multi_head_shape)
    ),
    f"{MICROSOFT}.DecoderMaskedMultiHeadAttention": Operator(
        Layers(_decoder_attention), shapes.shaped(_decoder_shape)
    ),
    **dict.fromkeys(
        (f"{MICROSOFT}.GroupQueryAttention", f"{MICROSOFT}.SparseAttention"),
        Operator(Layers(_group_query_attention), shapes.shaped(_grouped_shape)),
    ),
    f"{MICROSOFT}.PagedAttention": Operator(
        Layers(_paged_attention), shapes.shaped(_grouped_shape)
    ),
}
"""The attentions with scores; see ``linear_attention`` for those without."""
