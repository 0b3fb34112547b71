"""Converts ConvTranspose nodes: one layer for all outputs with the same number of products.

See :mod:`nestmap.model.workload.transposed_conv`. If there are several layers, each reads the whole
input, and a node without cost joins their outputs.
"""

from collections.abc import Iterable, Mapping
from math import prod
from typing import Final

from nestmap.model.workload.graph import Node
from nestmap.model.workload.loop_nests import Channels, LoopNest
from nestmap.model.workload.transposed_conv import TransposedAxis, transposed_convolution
from nestmap.pipeline.frontend.onnx.load.shapes import Sizes, TypedNode, shape_text
from nestmap.pipeline.frontend.onnx.node import node_expansion as expansion
from nestmap.pipeline.frontend.onnx.node.reader import NodeReader
from nestmap.pipeline.frontend.onnx.operators import checks
from nestmap.pipeline.frontend.onnx.operators.conv import auto_pad_of, channels_of, check_kernel
from nestmap.pipeline.frontend.onnx.operators.operand_routes import interleave_routes
from nestmap.pipeline.frontend.onnx.operators.record import Layers, Operator


def _conv_transpose(node: NodeReader) -> tuple[Node, ...]:
    """Converts a ConvTranspose node."""
    image, weight = node.sizes(0), node.sizes(1)
    channels = _channels(node, image, weight)
    axes = _axes(node, image[2:], weight[2:])
    node.check_output((image[0], channels.outputs * channels.groups, *(a.output for a in axes)))
    if len(axes) == 1:
        axes = (TransposedAxis(letter="Y", input=1, output=1), *axes)
    try:
        nests = transposed_convolution(axes, channels)
    except ValueError as error:
        found, _, expected = str(error).partition("; expected ")
        raise node.error(found, expected) from None
    values = {"W": expansion.value(node, 1), "I": expansion.value(node, 0)}
    if len(nests) == 1:
        return expansion.single_layer(node, nests[0], values)
    bits = node.outputs[0].precision if node.outputs else node.tensor(0).precision
    parts = [
        expansion.intermediate(node, f"phases{i}", _made(nest), bits)
        for i, nest in enumerate(nests)
    ]
    pairs = zip(nests, parts, strict=True)
    layers = [expansion.layer_node(node, nest, values, part) for nest, part in pairs]
    output = node.outputs[0].sizes if node.outputs else None
    routes = interleave_routes(
        output, [(_made(nest), _spatial(nest, len(image) - 2)) for nest in nests]
    )
    return (*layers, expansion.movement_part(node, "Interleave", parts, routes=routes))


def _made(nest: LoopNest) -> Sizes:
    return tuple(_outputs(nest).values())


def _spatial(nest: LoopNest, count: int) -> Sizes:
    """The outputs along the spatial axes, with all phases."""
    made = _outputs(nest).items()
    return tuple(
        prod(size for name, size in made if name in (f"P{letter}", f"O{letter}"))
        for letter in "ZYX"[-count:]
    )


def _outputs(nest: LoopNest) -> dict[str, int]:
    """The loops that index the output, and their sizes."""
    sizes = {loop.dimension: loop.size for loop in nest.loops}
    names = (index.dimensions[0] for index in nest.output)
    return {name: sizes[name] for name in names}


def _channels(node: NodeReader, image: Sizes, weight: Sizes) -> Channels:
    groups = channels_of(node, image, weight)
    if image[1] % groups:
        raise node.error(f"{image[1]} input channels in {groups} groups", "equal groups")
    if weight[0] != image[1]:
        raise node.error(
            f"{image[1]} input channels and weights {shape_text(weight)}",
            f"{weight[0]} input channels",
        )
    return Channels(batch=image[0], groups=groups, outputs=weight[1], inputs=image[1] // groups)


def _axes(node: NodeReader, image: Sizes, kernel: Sizes) -> tuple[TransposedAxis, ...]:
    """The spatial axes in the order of the tensors: depth, height, width."""
    check_kernel(node, kernel)
    count = len(image)
    ones, zeros = (1,) * count, (0,) * count
    strides, dilations = node.integers("strides", ones), node.integers("dilations", ones)
    added = node.integers("output_padding", zeros, least=0)
    whole = tuple(
        s * (size - 1) + extra + d * (k - 1) + 1
        for size, k, s, d, extra in zip(image, kernel, strides, dilations, added, strict=True)
    )
    ends = _cropped(node, whole, tuple(s * size for s, size in zip(strides, image, strict=True)))
    for all_of_it, crop in zip(whole, ends, strict=True):
        if all_of_it - sum(crop) < 1:
            raise node.error(
                f"{sum(crop)} outputs cropped of {all_of_it}", "at least one output on each axis"
            )
    columns = zip("ZYX"[-count:], image, kernel, strides, dilations, whole, ends, strict=True)
    return tuple(
        TransposedAxis(
            letter=letter,
            input=size,
            kernel=k,
            stride=s,
            dilation=d,
            before=crop[0],
            output=all_of_it - sum(crop),
        )
        for letter, size, k, s, d, all_of_it, crop in columns
    )


def _cropped(node: NodeReader, whole: Sizes, same: Sizes) -> tuple[tuple[int, int], ...]:
    """The outputs cropped at the start and the end of each axis.

    ``same`` are the outputs that SAME_* keeps: the input times the stride.
    """
    count = len(whole)
    pads = node.integers("pads", (0,) * 2 * count, least=0)
    known = node.output_extents(0)[2:] if node.graph.trusts_shapes else ()
    stated = node.integers("output_shape", known or (0,) * count)
    auto_pad = node.text("auto_pad", "NOTSET") if any(stated) else auto_pad_of(node, pads)
    if not any(stated) and not auto_pad.startswith("SAME"):
        return tuple(zip(pads[:count], pads[count:], strict=True))
    wanted = stated if any(stated) else same
    return tuple(_split(a - b, auto_pad) for a, b in zip(whole, wanted, strict=True))


def _split(crop: int, auto_pad: str) -> tuple[int, int]:
    less = int(crop / 2)  # towards zero, as in the operator's reference
    return (less, crop - less) if auto_pad == "SAME_UPPER" else (crop - less, less)


def _kernels(node: TypedNode) -> Iterable[int | None]:
    size = checks.size_at(node, 1, 1)
    return [None if size is None else size * node.integer("group", 1)]


TRANSPOSED: Final[Mapping[str, Operator]] = {
    "ConvTranspose": Operator(
        Layers(_conv_transpose),
        checks=(checks.numbers(0, 1), checks.one_axis(2, "a bias", _kernels)),
    )
}
"""The transposed convolution."""
