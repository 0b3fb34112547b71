"""GPT-2, GPT-3 and the blocks of ViT, which normalize before attention and perceptron.

Sizes of GPT-2: Radford et al., Language Models are Unsupervised Multitask Learners, 2019, table 2,
heads and parameters as released; vocabulary of 50,257 tokens, context of 1024 tokens:

===========  ======  =====  =====  ==========
network      blocks  width  heads  parameters
===========  ======  =====  =====  ==========
gpt2             12    768     12       124 M
gpt2-medium      24   1024     16       355 M
gpt2-large       36   1280     20       774 M
gpt2-xl          48   1600     25       1.5 B
===========  ======  =====  =====  ==========

Sizes of GPT-3: Brown et al., Language Models are Few-Shot Learners, NeurIPS 2020
(arXiv:2005.14165), table 2.1; same vocabulary, context of 2048 tokens. Heads are 128 wide (80 in
the 2.7 B network). In the paper every second block has locally banded attention; here all blocks
are dense:

===========  ======  =====  =====  ==========
network      blocks  width  heads  parameters
===========  ======  =====  =====  ==========
gpt3-2.7b        32   2560     32       2.7 B
gpt3-6.7b        32   4096     32       6.7 B
gpt3-13b         40   5140     40      13.0 B
gpt3-175b        96  12288     96     175.0 B
===========  ======  =====  =====  ==========

A network computes all tokens at once and returns the scores of the whole vocabulary for each.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Final, final

from nestmap.pipeline.frontend.networks.builder import Graph, Value
from nestmap.pipeline.frontend.networks.dims import Dims, sequence
from nestmap.pipeline.frontend.networks.generator import Generator, with_block

_WORDS: Final = 50_257


@final
@dataclass(frozen=True)
class GptSizes:
    """Sizes of a network whose perceptrons are four times as wide as its blocks."""

    blocks: int
    width: int
    heads: int
    head_size: int
    positions: int


def gpt_block(sizes: GptSizes, graph: Graph, name: str, x: Value) -> Value:
    """A block as in GPT-2, GPT-3 and ViT; one product gives queries, keys and values."""
    inner = sizes.heads * sizes.head_size
    y = graph.normalized("LayerNormalization", f"{name}/norm", x)
    y = graph.linear(f"{name}/queries_keys_values", y, 3 * inner)
    parts = graph.split(f"{name}/split", y, 3)
    queries, keys, values = (
        graph.heads(f"{name}/{part}", value, sizes.heads)
        for part, value in zip(("queries", "keys", "values"), parts, strict=True)
    )
    y = graph.attention(f"{name}/attention", queries, keys, values)
    y = graph.linear(f"{name}/output", graph.merged(f"{name}/merged", y), sizes.width)
    x = graph.vector("Add", f"{name}/add", x, y)
    y = graph.normalized("LayerNormalization", f"{name}/norm2", x)
    y = graph.linear(f"{name}/up", y, 4 * sizes.width)
    y = graph.linear(f"{name}/down", graph.vector("Gelu", f"{name}/gelu", y), sizes.width)
    return graph.vector("Add", f"{name}/add2", x, y)


def _network(sizes: GptSizes, graph: Graph, dims: Dims) -> None:
    tokens = graph.given("tokens", (dims.batch, dims.seq))
    words = graph.embedding("embeddings/words", tokens, _WORDS, sizes.width)
    places = graph.constant("embeddings.positions", (sizes.positions, sizes.width))
    places = graph.move("Slice", "embeddings/positions", (dims.seq, sizes.width), places)
    x = graph.vector("Add", "embeddings/add", words, places)
    for i in range(sizes.blocks):
        x = gpt_block(sizes, graph, f"block{i}", x)
    x = graph.normalized("LayerNormalization", "norm", x)
    graph.linear("logits", x, _WORDS)


def _one_block(sizes: GptSizes, graph: Graph, dims: Dims) -> None:
    gpt_block(sizes, graph, "block", graph.given("x", (dims.batch, dims.seq, sizes.width)))


_PUBLISHED: Final = {
    "gpt2": GptSizes(12, 768, 12, 64, 1024),
    "gpt2-medium": GptSizes(24, 1024, 16, 64, 1024),
    "gpt2-large": GptSizes(36, 1280, 20, 64, 1024),
    "gpt2-xl": GptSizes(48, 1600, 25, 64, 1024),
    "gpt3-2.7b": GptSizes(32, 2560, 32, 80, 2048),
    "gpt3-6.7b": GptSizes(32, 4096, 32, 128, 2048),
    "gpt3-13b": GptSizes(40, 5140, 40, 128, 2048),
    "gpt3-175b": GptSizes(96, 12288, 96, 128, 2048),
}

GPT: Final[Mapping[str, Generator]] = {
    key: generator
    for name, sizes in _PUBLISHED.items()
    for key, generator in with_block(
        name,
        sequence(sizes.positions, sizes.positions),
        partial(_network, sizes),
        partial(_one_block, sizes),
    ).items()
}
"""The generators by network name; ``NAME-block`` generates a single block."""
