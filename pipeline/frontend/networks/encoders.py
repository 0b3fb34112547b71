"""BERT, an encoder whose blocks normalize after attention and after the perceptron; and ViT.

Sizes: Devlin et al., BERT: Pre-training of Deep Bidirectional Transformers for Language
Understanding, NAACL 2019 (arXiv:1810.04805), section 3, and the released vocabulary of 30,522 word
pieces:

===========  ======  =====  =====  =========  ==========
network      blocks  width  heads  inner size  parameters
===========  ======  =====  =====  =========  ==========
bert-base        12    768     12       3072       110 M
bert-large       24   1024     16       4096       340 M
===========  ======  =====  =====  =========  ==========

The network includes the pooler over the first token but no task head. Sequences have 384 tokens by
default, as in question answering (SQuAD, MLPerf inference), and at most 512.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Final, final

from nestmap.pipeline.frontend.networks.builder import Graph, Value
from nestmap.pipeline.frontend.networks.dims import Dims, images, sequence
from nestmap.pipeline.frontend.networks.generator import Generator, with_block
from nestmap.pipeline.frontend.networks.gpt import GptSizes, gpt_block

# --- viT-B/16: an image as a sequence of 196 patches and a class token ---
# Sizes: Dosovitskiy et al., An Image is Worth 16x16 Words, ICLR 2021 (arXiv:2010.11929), table 1:
# 12 blocks, width 768, 12 heads, inner size 3072, 86 M parameters. Images of 224 x 224 pixels in
# patches of 16 x 16, 1000 classes.

_PIXELS: Final = 224
_PATCH: Final = 16
_CLASSES: Final = 1000


def _vit_network(sizes: GptSizes, graph: Graph, dims: Dims) -> None:
    patches = (dims.size // _PATCH) ** 2
    image = graph.given("image", dims.image)
    x = graph.patches("embeddings/patches", image, sizes.width, _PATCH)
    x = graph.move("Transpose", "embeddings/tokens", (dims.batch, patches, sizes.width), x)
    of_class = graph.constant("embeddings.class", (1, 1, sizes.width))
    of_class = graph.move("Expand", "embeddings/class", (dims.batch, 1, sizes.width), of_class)
    x = graph.move("Concat", "embeddings/all", (dims.batch, patches + 1, sizes.width), of_class, x)
    places = graph.constant("embeddings.positions", (patches + 1, sizes.width))
    x = graph.vector("Add", "embeddings/add", x, places)
    for i in range(sizes.blocks):
        x = gpt_block(sizes, graph, f"block{i}", x)
    x = graph.normalized("LayerNormalization", "norm", x)
    graph.linear("classes", graph.one_token("class", x), _CLASSES)


def _vit_one_block(sizes: GptSizes, graph: Graph, dims: Dims) -> None:
    tokens = (dims.size // _PATCH) ** 2 + 1
    gpt_block(sizes, graph, "block", graph.given("x", (dims.batch, tokens, sizes.width)))


_B16: Final = GptSizes(12, 768, 12, 64, (_PIXELS // _PATCH) ** 2 + 1)

VIT: Final[Mapping[str, Generator]] = with_block(
    "vit-b16",
    images(_PIXELS, least=_PATCH),
    partial(_vit_network, _B16),
    partial(_vit_one_block, _B16),
)
"""The generators by network name; ``NAME-block`` generates a single block."""


# --- BERT: an encoder whose blocks normalize after attention and after the perceptron ---

_WORDS: Final = 30_522
_POSITIONS: Final = 512
_SEGMENTS: Final = 2


@final
@dataclass(frozen=True)
class _Sizes:
    blocks: int
    width: int
    heads: int


_PUBLISHED: Final = {"bert-base": _Sizes(12, 768, 12), "bert-large": _Sizes(24, 1024, 16)}


def _network(sizes: _Sizes, graph: Graph, dims: Dims) -> None:
    tokens = graph.given("tokens", (dims.batch, dims.seq))
    segments = graph.given("segments", (dims.batch, dims.seq))
    words = graph.embedding("embeddings/words", tokens, _WORDS, sizes.width)
    kinds = graph.embedding("embeddings/segments", segments, _SEGMENTS, sizes.width)
    places = graph.constant("embeddings.positions", (_POSITIONS, sizes.width))
    places = graph.move("Slice", "embeddings/positions", (dims.seq, sizes.width), places)
    x = graph.vector("Add", "embeddings/add_segments", words, kinds)
    x = graph.vector("Add", "embeddings/add_positions", x, places)
    x = graph.normalized("LayerNormalization", "embeddings/norm", x)
    for i in range(sizes.blocks):
        x = _block(sizes, graph, f"block{i}", x)
    first = graph.one_token("pooler/first", x)
    graph.vector("Tanh", "pooler/tanh", graph.linear("pooler/linear", first, sizes.width))


def _one_block(sizes: _Sizes, graph: Graph, dims: Dims) -> None:
    _block(sizes, graph, "block", graph.given("x", (dims.batch, dims.seq, sizes.width)))


def _block(sizes: _Sizes, graph: Graph, name: str, x: Value) -> Value:
    queries, keys, values = (
        graph.heads(
            f"{name}/{part}_heads", graph.linear(f"{name}/{part}", x, sizes.width), sizes.heads
        )
        for part in ("queries", "keys", "values")
    )
    y = graph.attention(f"{name}/attention", queries, keys, values)
    y = graph.linear(f"{name}/output", graph.merged(f"{name}/merged", y), sizes.width)
    x = graph.vector("Add", f"{name}/add", y, x)
    x = graph.normalized("LayerNormalization", f"{name}/norm", x)
    y = graph.linear(f"{name}/up", x, 4 * sizes.width)
    y = graph.vector("Gelu", f"{name}/gelu", y)
    y = graph.linear(f"{name}/down", y, sizes.width)
    x = graph.vector("Add", f"{name}/add2", y, x)
    return graph.normalized("LayerNormalization", f"{name}/norm2", x)


BERT: Final[Mapping[str, Generator]] = {
    key: generator
    for name, sizes in _PUBLISHED.items()
    for key, generator in with_block(
        name, sequence(384, _POSITIONS), partial(_network, sizes), partial(_one_block, sizes)
    ).items()
}
"""The generators by network name; ``NAME-block`` generates a single block."""
