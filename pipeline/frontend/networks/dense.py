"""U-Net and YOLOv8n, whose outputs are maps of the image.

* U-Net: Ronneberger et al., U-Net: Convolutional Networks for Biomedical Image Segmentation, MICCAI
  2015 (arXiv:1505.04597), figure 1: 23 convolutions without padding, of an image of one channel;
  572 x 572 pixels give 388 x 388 of two classes.
* YOLOv8n: Jocher et al., Ultralytics YOLO, version 8.0, 2023, the released ``yolov8n``: 3.2 M
  parameters, 8.7 GFLOPs (4.4 G MACs) for 640 x 640 pixels and 80 classes (COCO).
"""

from collections.abc import Mapping
from typing import Final

from nestmap.pipeline.frontend.networks.dims import Dims, images
from nestmap.pipeline.frontend.networks.generator import Generator, for_images
from nestmap.pipeline.frontend.networks.image_graph import ImageGraph, Map, Window

# --- U-Net ---

_UNET_DEPTH: Final = 4
_UNET_WIDTH: Final = 64
_UNET_CLASSES: Final = 2


def _unet(graph: ImageGraph, dims: Dims) -> None:
    batch, _, height, width = dims.image
    x = _two_convs(graph, "down0", graph.given("image", (batch, 1, height, width)), _UNET_WIDTH)
    skipped: list[Map] = []
    for level in range(1, _UNET_DEPTH + 1):
        skipped.append(x)
        x = graph.pool("MaxPool", f"pool{level}", x, Window(2, 2, 0))
        x = _two_convs(graph, f"down{level}", x, _UNET_WIDTH << level)
    for level in reversed(range(_UNET_DEPTH)):
        x = graph.upconv(f"up{level}/upconv", x, _UNET_WIDTH << level)
        middle = _cropped(graph, f"up{level}/crop", skipped[level], x.sizes[2])
        x = graph.concat(f"up{level}/concat", 1, middle, x)
        x = _two_convs(graph, f"up{level}", x, _UNET_WIDTH << level)
    graph.conv("classes", x, _UNET_CLASSES)


def _two_convs(graph: ImageGraph, name: str, x: Map, features: int) -> Map:
    for i in range(2):
        x = graph.conv(f"{name}/conv{i}", x, features, Window(3, 1, 0), then="Relu")
    return x


def _cropped(graph: ImageGraph, name: str, x: Map, side: int) -> Map:
    """The middle of a map."""
    start = (x.sizes[2] - side) // 2
    x = graph.sliced(f"{name}/rows", x, 2, start, start + side)
    return graph.sliced(f"{name}/columns", x, 3, start, start + side)


# --- YOLOv8n ---

_YOLO_CLASSES: Final = 80
_BINS: Final = 16
"""The distance of each side of a box is the mean of a distribution over as many values."""
_BOX_WIDTH: Final = 64
_CLASS_WIDTH: Final = 80


def _yolo(graph: ImageGraph, dims: Dims) -> None:
    x = _conv(graph, "backbone/conv0", graph.given("image", dims.image), 16, Window(3, 2))
    maps: list[Map] = []
    for i, (features, count) in enumerate(((32, 1), (64, 2), (128, 2), (256, 1)), 1):
        x = _conv(graph, f"backbone/conv{i}", x, features, Window(3, 2))
        x = _bottlenecks(graph, f"backbone/stage{i}", x, features, count, adds=True)
        maps.append(x)
    _, fine, middle, _ = maps
    coarse = _pyramid(graph, "backbone/pyramid", x)

    merged = _merged(graph, "neck/up0", _doubled(graph, "neck/up0/resize", coarse), middle, 128)
    small = _merged(graph, "neck/up1", _doubled(graph, "neck/up1/resize", merged), fine, 64)
    x = _conv(graph, "neck/down0/conv", small, 64, Window(3, 2))
    medium = _merged(graph, "neck/down0", x, merged, 128)
    x = _conv(graph, "neck/down1/conv", medium, 128, Window(3, 2))
    large = _merged(graph, "neck/down1", x, coarse, 256)
    _detect(graph, (small, medium, large))


def _conv(graph: ImageGraph, name: str, x: Map, features: int, window: Window) -> Map:
    return graph.conv(name, x, features, window, then="Swish")


def _bottlenecks(
    graph: ImageGraph, name: str, x: Map, features: int, count: int, *, adds: bool
) -> Map:
    """Two halves of the channels; the second passes bottlenecks, all results are kept (C2f)."""
    half = features // 2
    x = _conv(graph, f"{name}/conv0", x, features, Window(1))
    parts = [graph.sliced(f"{name}/half{i}", x, 1, i * half, (i + 1) * half) for i in range(2)]
    for i in range(count):
        y = _conv(graph, f"{name}/bottleneck{i}/conv0", parts[-1], half, Window(3))
        y = _conv(graph, f"{name}/bottleneck{i}/conv1", y, half, Window(3))
        parts.append(graph.vector("Add", f"{name}/bottleneck{i}/add", parts[-1], y) if adds else y)
    x = graph.concat(f"{name}/concat", 1, *parts)
    return _conv(graph, f"{name}/conv1", x, features, Window(1))


def _pyramid(graph: ImageGraph, name: str, x: Map) -> Map:
    """Three maximum pools one after the other (SPPF)."""
    features = x.channels
    parts = [_conv(graph, f"{name}/conv0", x, features // 2, Window(1))]
    for i in range(3):
        parts.append(graph.pool("MaxPool", f"{name}/pool{i}", parts[-1], Window(5)))
    x = graph.concat(f"{name}/concat", 1, *parts)
    return _conv(graph, f"{name}/conv1", x, features, Window(1))


def _doubled(graph: ImageGraph, name: str, x: Map) -> Map:
    return graph.resized(name, x, 2 * x.sizes[2], 2 * x.sizes[3])


def _merged(graph: ImageGraph, name: str, x: Map, y: Map, features: int) -> Map:
    x = graph.concat(f"{name}/join", 1, x, y)
    return _bottlenecks(graph, name, x, features, 1, adds=False)


def _detect(graph: ImageGraph, maps: tuple[Map, ...]) -> None:
    """Boxes and classes of each position of three maps."""
    boxes: list[Map] = []
    classes: list[Map] = []
    for i, x in enumerate(maps):
        for found, what, width, outputs in (
            (boxes, "boxes", _BOX_WIDTH, 4 * _BINS),
            (classes, "classes", _CLASS_WIDTH, _YOLO_CLASSES),
        ):
            name = f"head{i}/{what}"
            y = _conv(graph, f"{name}/conv0", x, width, Window(3))
            y = _conv(graph, f"{name}/conv1", y, width, Window(3))
            y = graph.conv(f"{name}/conv2", y, outputs)
            positions = y.sizes[2] * y.sizes[3]
            found.append(graph.reshaped(f"{name}/flat", y, y.sizes[0], outputs, positions))
    scores = graph.activation("Sigmoid", graph.concat("classes", 2, *classes))
    graph.concat("detections", 1, _sides(graph, graph.concat("boxes", 2, *boxes)), scores)


def _sides(graph: ImageGraph, x: Map) -> Map:
    """The sides of boxes: means of distributions, by a product with the numbers of the bins."""
    batch, _, positions = x.sizes
    x = graph.reshaped("boxes/bins", x, batch, 4, _BINS, positions)
    x = graph.permuted("boxes/last", x, 0, 1, 3, 2)
    x = graph.vector("Softmax", "boxes/softmax", x)
    x = graph.reshaped("boxes/means", graph.linear("boxes/mean", x, 1), batch, 4, positions)
    x = graph.vector("Add", "boxes/anchors", x, graph.constant("anchors", 4, positions))
    return graph.vector("Mul", "boxes/strides", x, graph.constant("strides", positions))


DENSE: Final[Mapping[str, Generator]] = {
    "unet": for_images(images(572, least=188, step=16), _unet),
    "yolo-v8n": for_images(images(640, least=32, step=32), _yolo),
}
"""The generators by network name."""
