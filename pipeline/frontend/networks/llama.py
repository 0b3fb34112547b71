"""Llama and Mixtral: decoders with rotary positions, grouped queries and gated perceptrons.

=============  ======  =====  =====  ============  ==========  ==========
network        blocks  width  heads  key/value     inner size  parameters
=============  ======  =====  =====  ============  ==========  ==========
llama-7b           32   4096     32            32       11008       6.7 B
llama-70b          80   8192     64             8       28672        69 B
mixtral-8x7b       32   4096     32             8   8 x 14336      46.7 B
=============  ======  =====  =====  ============  ==========  ==========

Sources: Touvron et al., LLaMA, 2023 (arXiv:2302.13971), table 2, and Llama 2, 2023
(arXiv:2307.09288), with the released ``params.json``; Jiang et al., Mixtral of Experts, 2024
(arXiv:2401.04088), table 1. All have heads 128 wide and a vocabulary of 32,000.

``-prefill`` (and ``mixtral-8x7b``) computes ``seq`` tokens and returns the scores of the whole
vocabulary for the last one. ``-decode`` computes one token, the last of ``context``; the keys and
values of earlier tokens come from the cache, an input tensor. Mixtral routes each token to two
experts; tokens are spread evenly, and experts without tokens are omitted.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Final, final

from nestmap.pipeline.frontend.networks.builder import Graph, Value
from nestmap.pipeline.frontend.networks.dims import Dims, decoding, sequence
from nestmap.pipeline.frontend.networks.generator import Generator, with_block

_WORDS: Final = 32_000
_HEAD: Final = 128


@final
@dataclass(frozen=True)
class _Sizes:
    blocks: int
    width: int
    heads: int
    kv_heads: int
    inner: int
    experts: int = 1
    chosen: int = 1


_LLAMA_7B: Final = _Sizes(32, 4096, 32, 32, 11008)
_LLAMA_70B: Final = _Sizes(80, 8192, 64, 8, 28672)
_MIXTRAL: Final = _Sizes(32, 4096, 32, 8, 14336, experts=8, chosen=2)


def _network(sizes: _Sizes, graph: Graph, dims: Dims) -> None:
    tokens = graph.given("tokens", (dims.batch, dims.seq))
    x = graph.embedding("embeddings", tokens, _WORDS, sizes.width)
    for i in range(sizes.blocks):
        x = _block(sizes, graph, f"block{i}", x, dims.context)
    x = graph.normalized("RMSNormalization", "norm", graph.one_token("last", x))
    graph.linear("logits", x, _WORDS)


def _one_block(sizes: _Sizes, graph: Graph, dims: Dims) -> None:
    x = graph.given("x", (dims.batch, dims.seq, sizes.width))
    _block(sizes, graph, "block", x, dims.context)


def _block(sizes: _Sizes, graph: Graph, name: str, x: Value, context: int) -> Value:
    y = graph.normalized("RMSNormalization", f"{name}/norm", x)
    y = _attention(sizes, graph, name, y, context)
    y = graph.linear(f"{name}/output", y, sizes.width)
    x = graph.vector("Add", f"{name}/add", x, y)
    y = graph.normalized("RMSNormalization", f"{name}/norm2", x)
    y = (
        _perceptron(sizes, graph, name, y)
        if sizes.experts == 1
        else _mixture(sizes, graph, name, y)
    )
    return graph.vector("Add", f"{name}/add2", x, y)


def _attention(sizes: _Sizes, graph: Graph, name: str, x: Value, context: int) -> Value:
    queries = _projected(graph, f"{name}/queries", x, sizes.heads)
    keys = _projected(graph, f"{name}/keys", x, sizes.kv_heads)
    values = _projected(graph, f"{name}/values", x, sizes.kv_heads)
    queries = _rotated(graph, f"{name}/rotated_queries", queries)
    keys = _rotated(graph, f"{name}/rotated_keys", keys)
    y = graph.attention(
        f"{name}/attention",
        queries,
        _after_cache(graph, f"{name}/all_keys", keys, context),
        _after_cache(graph, f"{name}/all_values", values, context),
    )
    return graph.merged(f"{name}/merged", y)


def _projected(graph: Graph, name: str, x: Value, heads: int) -> Value:
    return graph.heads(f"{name}_heads", graph.linear(name, x, heads * _HEAD), heads)


def _rotated(graph: Graph, name: str, x: Value) -> Value:
    sizes = (x.sizes[-2], _HEAD // 2)
    cosines, sines = (graph.constant(f"positions.{part}", sizes) for part in ("cos", "sin"))
    return graph.vector("RotaryEmbedding", name, x, cosines, sines)


def _after_cache(graph: Graph, name: str, x: Value, context: int) -> Value:
    """The keys or values of all tokens; those of earlier tokens come from the cache."""
    batch, heads, tokens, size = x.sizes
    if context == tokens:
        return x
    cache = graph.given(f"{name}.cache", (batch, heads, context - tokens, size))
    return graph.move("Concat", name, (batch, heads, context, size), cache, x)


def _perceptron(sizes: _Sizes, graph: Graph, name: str, x: Value) -> Value:
    gate = graph.vector("Swish", f"{name}/swish", graph.linear(f"{name}/gate", x, sizes.inner))
    y = graph.vector("Mul", f"{name}/gated", gate, graph.linear(f"{name}/up", x, sizes.inner))
    return graph.linear(f"{name}/down", y, sizes.width)


def _mixture(sizes: _Sizes, graph: Graph, name: str, x: Value) -> Value:
    batch, tokens, width = x.sizes
    assigned = batch * tokens * sizes.chosen
    scores = graph.linear(f"{name}/router", x, sizes.experts)
    best = graph.best(f"{name}/best", scores, sizes.chosen)
    weights = graph.vector("Softmax", f"{name}/weights", best)
    made: list[Value] = []
    for i in range(min(sizes.experts, assigned)):
        expert = f"{name}/expert{i}"
        share = (assigned + sizes.experts - 1 - i) // sizes.experts
        own = graph.move("Gather", f"{expert}/tokens", (share, width), x, best)
        made.append(_perceptron(sizes, graph, expert, own))
    y = graph.move("Concat", f"{name}/experts", (assigned, width), *made)
    y = graph.move("Gather", f"{name}/by_token", (batch, tokens, sizes.chosen, width), y, best)
    y = graph.vector("Mul", f"{name}/weighted", y, weights)
    return graph.total(f"{name}/total", y)


_PUBLISHED: Final = (
    ("llama-7b-prefill", _LLAMA_7B, sequence(2048)),
    ("llama-7b-decode", _LLAMA_7B, decoding(2048)),
    ("llama-70b-prefill", _LLAMA_70B, sequence(4096)),
    ("llama-70b-decode", _LLAMA_70B, decoding(4096)),
    ("mixtral-8x7b", _MIXTRAL, sequence(4096)),
    ("mixtral-8x7b-decode", _MIXTRAL, decoding(4096)),
)

LLAMA: Final[Mapping[str, Generator]] = {
    key: generator
    for name, sizes, dims in _PUBLISHED
    for key, generator in with_block(
        name, dims, partial(_network, sizes), partial(_one_block, sizes)
    ).items()
}
"""The generators by network name; ``NAME-block`` generates a single block."""
