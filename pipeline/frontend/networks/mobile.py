"""MobileNet and EfficientNet: inverted residual blocks around a depthwise convolution.

* MobileNetV2: Sandler et al., MobileNetV2: Inverted Residuals and Linear Bottlenecks, CVPR 2018
  (arXiv:1801.04381), table 2.
* MobileNetV3: Howard et al., Searching for MobileNetV3, ICCV 2019 (arXiv:1905.02244), tables 1 and
  2. Squeeze-and-excitation has a quarter of the expanded channels, as in the released networks.
* EfficientNet-B0: Tan and Le, EfficientNet, ICML 2019 (arXiv:1905.11946), table 1;
  squeeze-and-excitation has a quarter of the block's input channels.

For 1000 classes of ImageNet, by default in images of 224 x 224 pixels:

==================  ==========  =======
network             parameters     MACs
==================  ==========  =======
mobilenet-v2             3.5 M    301 M
mobilenet-v3-small       2.5 M     57 M
mobilenet-v3-large       5.5 M    217 M
efficientnet-b0          5.3 M    386 M
==================  ==========  =======
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Final, final

from nestmap.pipeline.frontend.networks.classifiers import CLASSES, DEFAULT_SIZE
from nestmap.pipeline.frontend.networks.dims import Dims, images
from nestmap.pipeline.frontend.networks.generator import Generator, for_images
from nestmap.pipeline.frontend.networks.image_graph import ImageGraph, Map, Window


@final
@dataclass(frozen=True)
class _Gate:
    """Squeeze-and-excitation: each channel is multiplied by a function of all means."""

    width: int
    inner: str
    outer: str


@final
@dataclass(frozen=True)
class _Block:
    """An inverted residual block: expansion, depthwise convolution, gate, projection."""

    window: Window
    expanded: int
    features: int
    activation: str
    gate: _Gate | None = None


def _inverted_residual(graph: ImageGraph, name: str, x: Map, block: _Block) -> Map:
    y = x
    if block.expanded != x.channels:
        y = graph.conv(f"{name}/expand", y, block.expanded, then=block.activation)
    y = graph.conv(
        f"{name}/depthwise",
        y,
        block.expanded,
        block.window,
        groups=block.expanded,
        then=block.activation,
    )
    if block.gate:
        y = _gated(graph, name, y, block.gate)
    y = graph.conv(f"{name}/project", y, block.features)
    return graph.vector("Add", f"{name}/add", x, y) if x.sizes == y.sizes else y


def _gated(graph: ImageGraph, name: str, x: Map, gate: _Gate) -> Map:
    y = graph.mean(f"{name}/squeeze", x)
    y = graph.conv(f"{name}/squeeze0", y, gate.width, then=gate.inner)
    y = graph.conv(f"{name}/squeeze1", y, x.channels, then=gate.outer)
    return graph.vector("Mul", f"{name}/gate", x, y)


def _multiple_of_8(channels: float) -> int:
    """The nearest multiple of 8, at least 90 % of the channels: the rule of the released code."""
    nearest = max(8, int(channels + 4) // 8 * 8)
    return nearest if nearest >= 0.9 * channels else nearest + 8


# --- MobileNetV2: expansion, features, blocks, stride of the first ---

_V2_STAGES: Final = (
    *((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2)),
    *((6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1)),
)


def _mobilenet_v2(graph: ImageGraph, dims: Dims) -> None:
    x = graph.conv("stem", graph.given("image", dims.image), 32, Window(3, 2), then="Relu6")
    for stage, (expansion, features, count, stride) in enumerate(_V2_STAGES):
        for i in range(count):
            window = Window(3, stride if i == 0 else 1)
            block = _Block(window, expansion * x.channels, features, "Relu6")
            x = _inverted_residual(graph, f"stage{stage}/block{i}", x, block)
    graph.classified(graph.conv("last", x, 1280, then="Relu6"), CLASSES)


# --- MobileNetV3: kernel, expanded, features, gate, activation, stride ---

_V3Block = tuple[int, int, int, bool, str, int]


@final
@dataclass(frozen=True)
class _V3:
    blocks: tuple[_V3Block, ...]
    hidden: int


_V3_SMALL: Final = _V3(
    (
        (3, 16, 16, True, "Relu", 2),
        (3, 72, 24, False, "Relu", 2),
        (3, 88, 24, False, "Relu", 1),
        (5, 96, 40, True, "HardSwish", 2),
        (5, 240, 40, True, "HardSwish", 1),
        (5, 240, 40, True, "HardSwish", 1),
        (5, 120, 48, True, "HardSwish", 1),
        (5, 144, 48, True, "HardSwish", 1),
        (5, 288, 96, True, "HardSwish", 2),
        (5, 576, 96, True, "HardSwish", 1),
        (5, 576, 96, True, "HardSwish", 1),
    ),
    1024,
)
_V3_LARGE: Final = _V3(
    (
        (3, 16, 16, False, "Relu", 1),
        (3, 64, 24, False, "Relu", 2),
        (3, 72, 24, False, "Relu", 1),
        (5, 72, 40, True, "Relu", 2),
        (5, 120, 40, True, "Relu", 1),
        (5, 120, 40, True, "Relu", 1),
        (3, 240, 80, False, "HardSwish", 2),
        (3, 200, 80, False, "HardSwish", 1),
        (3, 184, 80, False, "HardSwish", 1),
        (3, 184, 80, False, "HardSwish", 1),
        (3, 480, 112, True, "HardSwish", 1),
        (3, 672, 112, True, "HardSwish", 1),
        (5, 672, 160, True, "HardSwish", 2),
        (5, 960, 160, True, "HardSwish", 1),
        (5, 960, 160, True, "HardSwish", 1),
    ),
    1280,
)


def _mobilenet_v3(sizes: _V3, graph: ImageGraph, dims: Dims) -> None:
    x = graph.conv("stem", graph.given("image", dims.image), 16, Window(3, 2), then="HardSwish")
    for i, (kernel, expanded, features, has_gate, activation, stride) in enumerate(sizes.blocks):
        gate = _Gate(_multiple_of_8(expanded / 4), "Relu", "HardSigmoid") if has_gate else None
        block = _Block(Window(kernel, stride), expanded, features, activation, gate)
        x = _inverted_residual(graph, f"block{i}", x, block)
    x = graph.mean("pool", graph.conv("last", x, 6 * x.channels, then="HardSwish"))
    x = graph.linear("hidden", graph.reshaped("flat", x, *x.sizes[:2]), sizes.hidden)
    graph.linear("classes", graph.activation("HardSwish", x), CLASSES)


# --- EfficientNet-B0: expansion, kernel, features, blocks, stride of the first ---

_B0_STAGES: Final = (
    *((1, 3, 16, 1, 1), (6, 3, 24, 2, 2), (6, 5, 40, 2, 2), (6, 3, 80, 3, 2)),
    *((6, 5, 112, 3, 1), (6, 5, 192, 4, 2), (6, 3, 320, 1, 1)),
)


def _efficientnet(graph: ImageGraph, dims: Dims) -> None:
    x = graph.conv("stem", graph.given("image", dims.image), 32, Window(3, 2), then="Swish")
    for stage, (expansion, kernel, features, count, stride) in enumerate(_B0_STAGES):
        for i in range(count):
            window = Window(kernel, stride if i == 0 else 1)
            gate = _Gate(x.channels // 4, "Swish", "Sigmoid")
            block = _Block(window, expansion * x.channels, features, "Swish", gate)
            x = _inverted_residual(graph, f"stage{stage}/block{i}", x, block)
    graph.classified(graph.conv("last", x, 1280, then="Swish"), CLASSES)


_BUILDERS: Final[Mapping[str, Callable[[ImageGraph, Dims], object]]] = {
    "mobilenet-v2": _mobilenet_v2,
    "mobilenet-v3-small": partial(_mobilenet_v3, _V3_SMALL),
    "mobilenet-v3-large": partial(_mobilenet_v3, _V3_LARGE),
    "efficientnet-b0": _efficientnet,
}

MOBILE: Final[Mapping[str, Generator]] = {
    name: for_images(images(DEFAULT_SIZE), build) for name, build in _BUILDERS.items()
}
"""The generators by network name."""
