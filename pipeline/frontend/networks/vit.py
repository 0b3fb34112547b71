"""ViT-B/16: an image as a sequence of 196 patches and a class token.

Sizes: Dosovitskiy et al., An Image is Worth 16x16 Words, ICLR 2021 (arXiv:2010.11929), table 1:
12 blocks, width 768, 12 heads, inner size 3072, 86 M parameters. Images of 224 x 224 pixels in
patches of 16 x 16, 1000 classes.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Final

from nestmap.pipeline.frontend.networks.builder import Graph
from nestmap.pipeline.frontend.networks.dims import Dims, images
from nestmap.pipeline.frontend.networks.generator import Generator, with_block
from nestmap.pipeline.frontend.networks.gpt import GptSizes, gpt_block

_PIXELS: Final = 224
_PATCH: Final = 16
_PATCHES: Final = (_PIXELS // _PATCH) ** 2
_TOKENS: Final = _PATCHES + 1
_CLASSES: Final = 1000


def _network(sizes: GptSizes, graph: Graph, dims: Dims) -> None:
    image = graph.given("image", (dims.batch, 3, _PIXELS, _PIXELS))
    x = graph.patches("embeddings/patches", image, sizes.width, _PATCH)
    x = graph.move("Transpose", "embeddings/tokens", (dims.batch, _PATCHES, sizes.width), x)
    of_class = graph.constant("embeddings.class", (1, 1, sizes.width))
    of_class = graph.move("Expand", "embeddings/class", (dims.batch, 1, sizes.width), of_class)
    x = graph.move("Concat", "embeddings/all", (dims.batch, _TOKENS, sizes.width), of_class, x)
    places = graph.constant("embeddings.positions", (_TOKENS, sizes.width))
    x = graph.vector("Add", "embeddings/add", x, places)
    for i in range(sizes.blocks):
        x = gpt_block(sizes, graph, f"block{i}", x)
    x = graph.normalized("LayerNormalization", "norm", x)
    graph.linear("classes", graph.one_token("class", x), _CLASSES)


def _one_block(sizes: GptSizes, graph: Graph, dims: Dims) -> None:
    gpt_block(sizes, graph, "block", graph.given("x", (dims.batch, _TOKENS, sizes.width)))


_B16: Final = GptSizes(12, 768, 12, 64, _TOKENS)

VIT: Final[Mapping[str, Generator]] = with_block(
    "vit-b16", images(), partial(_network, _B16), partial(_one_block, _B16)
)
"""The generators by network name; ``NAME-block`` generates a single block."""
