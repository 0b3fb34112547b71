"""Converts attention operators of the ONNX standard; see ``attention_core`` for the layers."""

from __future__ import annotations

from nestmap.model.workload.graph import Node
from nestmap.pipeline.frontend.onnx.array.attention_core import (
    AttentionOperands,
    append_to_cache,
    attention_nodes,
    heads_of,
    output_sizes,
)
from nestmap.pipeline.frontend.onnx.node.node_expansion import value
from nestmap.pipeline.frontend.onnx.node.reader import NodeReader

_SOFTCAP = 3  # divide, tanh, multiply


def attention(node: NodeReader) -> tuple[Node, ...]:
    """Converts an Attention node, with three or four axes, with or without a cache.

    Raises:
        InputError: if shapes or attributes do not match.
    """
    flat = len(node.sizes(0)) == 3
    query_heads = node.integer("q_num_heads", 0, least=0) if flat else 0
    key_heads = node.integer("kv_num_heads", 0, least=0) if flat else 0
    query = heads_of(node, 0, query_heads)
    key, join_keys = append_to_cache(node, heads_of(node, 1, key_heads), 4, "present_key")
    values, join_values = append_to_cache(node, heads_of(node, 2, key_heads), 5, "present_value")
    biases = (value(node, 3),) if node.has(3) else ()
    extra = len(biases) + node.flag("is_causal") + _SOFTCAP * bool(node.number("softcap", 0.0))
    given = AttentionOperands(query, key, values, biases, extra)
    nodes = attention_nodes(node, given)
    node.check_output(output_sizes(given, flat=flat))
    return (*join_keys, *join_values, *nodes)


def flex_attention(node: NodeReader) -> tuple[Node, ...]:
    """Converts a FlexAttention node; its subgraphs, which modify scores, are not counted.

    Raises:
        InputError: if shapes do not match.
    """
    given = AttentionOperands(heads_of(node, 0, 0), heads_of(node, 1, 0), heads_of(node, 2, 0))
    nodes = attention_nodes(node, given)
    node.check_output(output_sizes(given, flat=False))
    return nodes
