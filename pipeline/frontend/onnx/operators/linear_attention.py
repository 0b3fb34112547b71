"""Converts LinearAttention nodes: products with a state for each head replace scores.

Each step adds the outer product of key and value to the state and multiplies the query by it; in
the ``delta`` rules the key is multiplied by the state first. The state is updated in place and not
indexed by the steps. Dependences between steps are not modelled. Several query heads may share a
key head, as in ``attention_core``.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from nestmap.model.workload.contraction import contraction
from nestmap.model.workload.graph import Node
from nestmap.pipeline.frontend.onnx.load.shapes import Sizes, shape_text
from nestmap.pipeline.frontend.onnx.node import node_expansion as expansion
from nestmap.pipeline.frontend.onnx.node.reader import NodeReader
from nestmap.pipeline.frontend.onnx.operators.attention_core import Heads, heads_of
from nestmap.pipeline.frontend.onnx.operators.record import Layers, Operator

_RULES: Final = ("linear", "gated", "delta", "gated_delta")
_PAST: Final = 3
_DECAY: Final = 4
_BETA: Final = 5


def _linear_attention(node: NodeReader) -> tuple[Node, ...]:
    """Converts a LinearAttention node."""
    rule = node.text("update_rule", "gated_delta")
    if rule not in _RULES:
        raise node.error(f"update_rule {rule!r}", f"one of {', '.join(_RULES)}")
    query, key, values = _heads(node)
    node.check_output((query.batch, query.length, query.heads * values.size))
    state = expansion.intermediate(
        node, "state", (*_matrix(key, values).values(),), query.value.tensor.precision
    )
    updates = _updates(node, rule, (key, values), state)
    shared = query.heads // key.heads
    own = {**_steps(key), "k": key.size} | ({"g": shared} if shared > 1 else {})
    nest = contraction(own, _matrix(key, values), "bhgtv" if shared > 1 else "bhtv")
    return (*updates, expansion.layer_node(node, nest, {"I": query.value, "W": state}))


def _updates(
    node: NodeReader, rule: str, given: tuple[Heads, Heads], state: expansion.Value
) -> tuple[Node, ...]:
    """The nodes that update the state from keys and values."""
    key, values = given
    steps, matrix = _steps(key), _matrix(key, values)
    sizes, bits = (*matrix.values(),), state.tensor.precision
    made: list[Node] = []
    added = values.value
    if "delta" in rule:
        read, added = (
            expansion.intermediate(node, name, values.sizes, bits) for name in ("read", "delta")
        )
        nest = contraction({**steps, "k": key.size}, matrix, "bhtv")
        past = _past(node, sizes, bits)
        made.append(expansion.layer_node(node, nest, {"I": key.value, "W": past}, read))
        work = (values.sizes, 2)  # subtract, times beta
        made.append(
            expansion.vector_part(
                node, "Delta", work, (values.value, read, *_some(node, _BETA)), added
            )
        )
    gated = "gated" in rule
    sums = expansion.intermediate(node, "update", sizes, bits) if gated else state
    nest = contraction({**steps, "k": key.size}, {**steps, "v": values.size}, "bhkv")
    made.append(expansion.layer_node(node, nest, {"I": key.value, "W": added}, sums))
    if gated:
        work = ((key.length, *sizes), 1)
        made.append(
            expansion.vector_part(node, "Decay", work, (sums, *_some(node, _PAST, _DECAY)), state)
        )
    return tuple(made)


def _heads(node: NodeReader) -> tuple[Heads, Heads, Heads]:
    query = heads_of(node, 0, node.integer("q_num_heads", 0, least=0))
    count = node.integer("kv_num_heads", 0, least=0)
    key, values = heads_of(node, 1, count), heads_of(node, 2, count)
    same = (query.batch, query.length, query.size) == (key.batch, key.length, key.size)
    if not same or key.sizes[:3] != values.sizes[:3] or query.heads % key.heads:
        shapes = ", ".join(shape_text(each.sizes) for each in (query, key, values))
        raise node.error(
            f"queries, keys and values [batch, heads, length, size] {shapes}",
            "equal batches and lengths, sizes of queries and keys, heads of keys and values, and a "
            "number of query heads that key heads divide",
        )
    return query, key, values


def _steps(key: Heads) -> dict[str, int]:
    return {"b": key.batch, "h": key.heads, "t": key.length}


def _matrix(key: Heads, values: Heads) -> dict[str, int]:
    """The axes of the state."""
    return {"b": key.batch, "h": key.heads, "k": key.size, "v": values.size}


def _past(node: NodeReader, sizes: Sizes, bits: int) -> expansion.Value:
    """The state before the first step; zeros if not given."""
    if node.has(_PAST):
        return expansion.value(node, _PAST)
    return replace(expansion.intermediate(node, "past", sizes, bits), source=None)


def _some(node: NodeReader, *positions: int) -> tuple[expansion.Value, ...]:
    return tuple(expansion.value(node, position) for position in positions if node.has(position))


LINEAR_ATTENTION: Final[Mapping[str, Operator]] = {
    "LinearAttention": Operator(Layers(_linear_attention))
}
"""The attention with a state instead of scores."""
