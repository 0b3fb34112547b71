"""ConvNeXt and Swin, whose four stages halve the image and double the channels.

* ConvNeXt: Liu et al., A ConvNet for the 2020s, CVPR 2022 (arXiv:2201.03545), section 3.
* Swin: Liu et al., Swin Transformer: Hierarchical Vision Transformer using Shifted Windows, ICCV
  2021 (arXiv:2103.14030), section 3.3: windows of 7 x 7 positions, heads of 32 channels.

For 1000 classes of ImageNet, by default in images of 224 x 224 pixels:

=============  ===========  ==========  ======
network        blocks       parameters    MACs
=============  ===========  ==========  ======
convnext-tiny  3, 3, 9, 3       28.6 M  4.46 G
swin-tiny      2, 2, 6, 2       28.3 M  4.49 G
=============  ===========  ==========  ======
"""

from collections.abc import Mapping
from typing import Final

from nestmap.pipeline.frontend.networks.classifiers import CLASSES, DEFAULT_SIZE
from nestmap.pipeline.frontend.networks.dims import Dims, images
from nestmap.pipeline.frontend.networks.generator import Generator, for_images
from nestmap.pipeline.frontend.networks.image_graph import ImageGraph, Map, Window

_WIDTH: Final = 96
_PATCH: Final = Window(4, 4, 0)
_INNER: Final = 4
"""How many times as wide as its block a perceptron is."""

# --- ConvNeXt ---

_CONVNEXT_BLOCKS: Final = (3, 3, 9, 3)


def _convnext(graph: ImageGraph, dims: Dims) -> None:
    x = graph.conv("stem", graph.given("image", dims.image), _WIDTH, _PATCH)
    x = _channels_normalized(graph, "stem/norm", x)
    for stage, count in enumerate(_CONVNEXT_BLOCKS):
        if stage:
            x = _channels_normalized(graph, f"stage{stage}/norm", x)
            x = graph.conv(f"stage{stage}/halve", x, _WIDTH << stage, Window(2, 2, 0))
        for i in range(count):
            x = _convnext_block(graph, f"stage{stage}/block{i}", x)
    mean = _channels_normalized(graph, "norm", graph.mean("pool", x))
    graph.linear("classes", graph.reshaped("flat", mean, *mean.sizes[:2]), CLASSES)


def _convnext_block(graph: ImageGraph, name: str, x: Map) -> Map:
    y = graph.conv(f"{name}/depthwise", x, x.channels, Window(7), groups=x.channels)
    y = graph.permuted(f"{name}/to_rows", y, 0, 2, 3, 1)
    y = _perceptron(graph, name, graph.normalized(f"{name}/norm", y))
    scale = graph.constant(f"{name}/scale.weight", x.channels)
    y = graph.vector("Mul", f"{name}/scale", y, scale)
    y = graph.permuted(f"{name}/to_maps", y, 0, 3, 1, 2)
    return graph.vector("Add", f"{name}/add", x, y)


def _channels_normalized(graph: ImageGraph, name: str, x: Map) -> Map:
    y = graph.permuted(f"{name}/to_rows", x, 0, 2, 3, 1)
    return graph.permuted(f"{name}/to_maps", graph.normalized(name, y), 0, 3, 1, 2)


def _perceptron(graph: ImageGraph, name: str, x: Map) -> Map:
    y = graph.activation("Gelu", graph.linear(f"{name}/up", x, _INNER * x.sizes[-1]))
    return graph.linear(f"{name}/down", y, x.sizes[-1])


# --- Swin; maps are [batch, height, width, channels] ---

_SWIN_BLOCKS: Final = (2, 2, 6, 2)
_HEAD: Final = 32
_SIDE: Final = 7
_TOKENS: Final = _SIDE * _SIDE


def _swin(graph: ImageGraph, dims: Dims) -> None:
    x = graph.conv("stem", graph.given("image", dims.image), _WIDTH, _PATCH)
    x = graph.normalized("stem/norm", graph.permuted("stem/to_rows", x, 0, 2, 3, 1))
    for stage, count in enumerate(_SWIN_BLOCKS):
        if stage:
            x = _halved(graph, f"stage{stage}/halve", x)
        for i in range(count):
            x = _swin_block(graph, f"stage{stage}/block{i}", x, is_shifted=i % 2 == 1)
    x = graph.permuted("to_maps", graph.normalized("norm", x), 0, 3, 1, 2)
    graph.classified(x, CLASSES)


def _halved(graph: ImageGraph, name: str, x: Map) -> Map:
    """The channels of 2 x 2 positions, of which a linear layer makes twice as many."""
    x = _filled(graph, f"{name}/fill", x, 2)
    batch, height, width, channels = x.sizes
    x = graph.reshaped(f"{name}/pairs", x, batch, height // 2, 2, width // 2, 2, channels)
    x = graph.permuted(f"{name}/order", x, 0, 1, 3, 4, 2, 5)
    x = graph.reshaped(f"{name}/merge", x, batch, height // 2, width // 2, 4 * channels)
    return graph.linear(f"{name}/linear", graph.normalized(f"{name}/norm", x), 2 * channels)


def _swin_block(graph: ImageGraph, name: str, x: Map, *, is_shifted: bool) -> Map:
    y = graph.normalized(f"{name}/norm", x)
    y = _windowed_attention(graph, name, y, is_shifted=is_shifted)
    x = graph.vector("Add", f"{name}/add", x, y)
    y = _perceptron(graph, name, graph.normalized(f"{name}/norm2", x))
    return graph.vector("Add", f"{name}/add2", x, y)


def _windowed_attention(graph: ImageGraph, name: str, x: Map, *, is_shifted: bool) -> Map:
    """Attention within windows, which every second block shifts by half a window."""
    filled = _filled(graph, f"{name}/fill", x, _SIDE)
    # an axis of one window has nothing to shift
    axes = tuple(axis for axis in (1, 2) if is_shifted and filled.sizes[axis] > _SIDE)
    y = _rolled(graph, f"{name}/shift", filled, axes, _SIDE // 2)
    y = _attention(graph, name, _windows(graph, name, y), filled.sizes, is_masked=bool(axes))
    y = _unwindowed(graph, name, y, filled.sizes)
    y = _rolled(graph, f"{name}/shift_back", y, axes, -(_SIDE // 2))
    for axis in (1, 2):
        if y.sizes[axis] > x.sizes[axis]:
            y = graph.sliced(f"{name}/cut{axis}", y, axis, 0, x.sizes[axis])
    return y


def _filled(graph: ImageGraph, name: str, x: Map, multiple: int) -> Map:
    """The map with its height and width filled up to a multiple."""
    batch, height, width, channels = x.sizes
    sizes = (batch, -(-height // multiple) * multiple, -(-width // multiple) * multiple, channels)
    return x if sizes == x.sizes else graph.padded(name, x, sizes)


def _rolled(graph: ImageGraph, name: str, x: Map, axes: tuple[int, ...], by: int) -> Map:
    """The map that begins ``by`` positions later; those before follow at the end."""
    for axis in axes:
        size = x.sizes[axis]
        first = graph.sliced(f"{name}{axis}/first", x, axis, by % size, size)
        second = graph.sliced(f"{name}{axis}/second", x, axis, 0, by % size)
        x = graph.concat(f"{name}{axis}", axis, first, second)
    return x


def _windows(graph: ImageGraph, name: str, x: Map) -> Map:
    batch, height, width, channels = x.sizes
    rows, columns = height // _SIDE, width // _SIDE
    x = graph.reshaped(f"{name}/tiles", x, batch, rows, _SIDE, columns, _SIDE, channels)
    x = graph.permuted(f"{name}/tiles_first", x, 0, 1, 3, 2, 4, 5)
    return graph.reshaped(f"{name}/windows", x, batch * rows * columns, _TOKENS, channels)


def _unwindowed(graph: ImageGraph, name: str, x: Map, sizes: tuple[int, ...]) -> Map:
    batch, height, width, channels = sizes
    rows, columns = height // _SIDE, width // _SIDE
    x = graph.reshaped(f"{name}/tiles_back", x, batch, rows, columns, _SIDE, _SIDE, channels)
    x = graph.permuted(f"{name}/rows_first", x, 0, 1, 3, 2, 4, 5)
    return graph.reshaped(f"{name}/positions", x, *sizes)


def _attention(
    graph: ImageGraph, name: str, x: Map, image: tuple[int, ...], *, is_masked: bool
) -> Map:
    """Attention of each window, with a bias for each pair of positions."""
    count, _, channels = x.sizes
    heads = channels // _HEAD
    x = graph.linear(f"{name}/queries_keys_values", x, 3 * channels)
    x = graph.reshaped(f"{name}/heads", x, count, _TOKENS, 3, heads, _HEAD)
    x = graph.permuted(f"{name}/heads_first", x, 2, 0, 3, 1, 4)
    queries, keys, values = (
        graph.reshaped(
            f"{name}/{part}", graph.sliced(f"{name}/{part}/slice", x, 0, i, i + 1), *x.sizes[1:]
        )
        for i, part in enumerate(("queries", "keys", "values"))
    )
    keys = graph.permuted(f"{name}/keys/transpose", keys, 0, 1, 3, 2)
    scores = graph.product(f"{name}/attention/scores", queries, keys)
    places = graph.constant(f"{name}/places.weight", heads, _TOKENS, _TOKENS)
    scores = graph.vector("Add", f"{name}/attention/places", scores, places)
    if is_masked:
        scores = _masked(graph, f"{name}/attention", scores, count // image[0])
    weights = graph.vector("Softmax", f"{name}/attention/softmax", scores)
    y = graph.product(f"{name}/attention/values", weights, values)
    y = graph.permuted(f"{name}/tokens_first", y, 0, 2, 1, 3)
    y = graph.reshaped(f"{name}/merged", y, count, _TOKENS, channels)
    return graph.linear(f"{name}/output", y, channels)


def _masked(graph: ImageGraph, name: str, scores: Map, windows: int) -> Map:
    """Scores of positions that are no neighbors in the image get a mask."""
    whole = scores.sizes
    by_image = graph.reshaped(f"{name}/by_image", scores, -1, windows, *whole[1:])
    mask = graph.constant(f"{name}/mask.values", windows, 1, _TOKENS, _TOKENS)
    by_image = graph.vector("Add", f"{name}/mask", by_image, mask)
    return graph.reshaped(f"{name}/by_window", by_image, *whole)


HIERARCHICAL: Final[Mapping[str, Generator]] = {
    "convnext-tiny": for_images(images(DEFAULT_SIZE, least=32), _convnext),
    "swin-tiny": for_images(images(DEFAULT_SIZE, least=4), _swin),
}
"""The generators by network name."""
