"""VGG-16 and ResNet, of convolutions alone.

VGG-16: Simonyan and Zisserman, Very Deep Convolutional Networks for Large-Scale Image Recognition,
ICLR 2015 (arXiv:1409.1556), table 1, column D. ResNet: He et al., Deep Residual Learning for Image
Recognition, CVPR 2016 (arXiv:1512.03385), table 1; the 3x3 convolution of a bottleneck has the
stride, as in torchvision's networks. Both for 1000 classes of ImageNet, by default in images of
224 x 224 pixels:

==========  ==========  ==================  ==========
network     blocks      parameters          MACs
==========  ==========  ==================  ==========
vgg-16      --                     138.4 M     15.47 G
resnet-18   2, 2, 2, 2              11.7 M      1.81 G
resnet-34   3, 4, 6, 3              21.8 M      3.66 G
resnet-50   3, 4, 6, 3              25.6 M      4.09 G
==========  ==========  ==================  ==========
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Final, final

from nestmap.pipeline.frontend.networks.dims import Dims, images
from nestmap.pipeline.frontend.networks.generator import Generator, for_images
from nestmap.pipeline.frontend.networks.image_graph import ImageGraph, Map, Window

CLASSES: Final = 1000
"""The classes of ImageNet."""

DEFAULT_SIZE: Final = 224
"""The pixels of a side of an image."""

# --- ResNet ---

_WIDTHS: Final = (64, 128, 256, 512)
_EXPANSION: Final = 4


@final
@dataclass(frozen=True)
class _ResNet:
    blocks: tuple[int, int, int, int]
    is_bottleneck: bool


def _resnet(sizes: _ResNet, graph: ImageGraph, dims: Dims) -> None:
    x = graph.conv("stem", graph.given("image", dims.image), 64, Window(7, 2), then="Relu")
    x = graph.pool("MaxPool", "stem/pool", x, Window(3, 2))
    make = _bottleneck if sizes.is_bottleneck else _basic_block
    for stage, (count, width) in enumerate(zip(sizes.blocks, _WIDTHS, strict=True)):
        for i in range(count):
            stride = 2 if stage > 0 and i == 0 else 1
            x = make(graph, f"stage{stage}/block{i}", x, width, stride)
    graph.classified(x, CLASSES)


def _basic_block(graph: ImageGraph, name: str, x: Map, width: int, stride: int) -> Map:
    y = graph.conv(f"{name}/conv0", x, width, Window(3, stride), then="Relu")
    y = graph.conv(f"{name}/conv1", y, width, Window(3))
    return _joined(graph, name, x, y, stride)


def _bottleneck(graph: ImageGraph, name: str, x: Map, width: int, stride: int) -> Map:
    y = graph.conv(f"{name}/conv0", x, width, then="Relu")
    y = graph.conv(f"{name}/conv1", y, width, Window(3, stride), then="Relu")
    y = graph.conv(f"{name}/conv2", y, _EXPANSION * width)
    return _joined(graph, name, x, y, stride)


def _joined(graph: ImageGraph, name: str, x: Map, y: Map, stride: int) -> Map:
    if x.sizes != y.sizes:
        x = graph.conv(f"{name}/shortcut", x, y.channels, Window(1, stride))
    return graph.activation("Relu", graph.vector("Add", f"{name}/add", y, x))


# --- VGG ---

_VGG_STAGES: Final = ((64, 2), (128, 2), (256, 3), (512, 3), (512, 3))
_VGG_SIDE: Final = 7
_VGG_WIDTH: Final = 4096


def _vgg(graph: ImageGraph, dims: Dims) -> None:
    x = graph.given("image", dims.image)
    for stage, (features, count) in enumerate(_VGG_STAGES):
        for i in range(count):
            x = graph.conv(f"stage{stage}/conv{i}", x, features, Window(3), then="Relu")
        x = graph.pool("MaxPool", f"stage{stage}/pool", x, Window(2, 2, 0))
    x = _square(graph, x, _VGG_SIDE)
    x = graph.reshaped("flat", x, x.sizes[0], x.channels * _VGG_SIDE**2)
    for i in range(2):
        x = graph.activation("Relu", graph.linear(f"linear{i}", x, _VGG_WIDTH))
    graph.linear("classes", x, CLASSES)


def _square(graph: ImageGraph, x: Map, side: int) -> Map:
    """The map with ``side`` rows and columns, whatever the size of the image was."""
    height = x.sizes[2]
    if height < side:
        return graph.resized("square", x, side, side)
    if height > side:
        stride = height // side
        return graph.pool(
            "AveragePool", "square", x, Window(height - (side - 1) * stride, stride, 0)
        )
    return x


_RESNETS: Final = {
    "resnet-18": _ResNet((2, 2, 2, 2), is_bottleneck=False),
    "resnet-34": _ResNet((3, 4, 6, 3), is_bottleneck=False),
    "resnet-50": _ResNet((3, 4, 6, 3), is_bottleneck=True),
}

CLASSIFIERS: Final[Mapping[str, Generator]] = {
    "vgg-16": for_images(images(DEFAULT_SIZE, least=32), _vgg),
    **{
        name: for_images(images(DEFAULT_SIZE), partial(_resnet, sizes))
        for name, sizes in _RESNETS.items()
    },
}
"""The generators by network name."""
