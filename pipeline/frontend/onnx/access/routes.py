"""Determines the routes of data-movement operators: the sources of their output elements.

Routes follow from sizes, attributes and constant inputs. If these are unknown or inconsistent, the
model is still parsed: the elements may then come from anywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import accumulate
from typing import Final

from nestmap.model import InputError
from nestmap.model.base import copy_with
from nestmap.model.workload.access import AccessRoute
from nestmap.pipeline.frontend.onnx.access.gather_scatter import (
    compress,
    gather,
    gather_elements,
    gather_nd,
    max_unpool,
    one_hot,
    reverse_sequence,
    scatter_elements,
    scatter_nd,
    tensor_scatter,
)
from nestmap.pipeline.frontend.onnx.access.reshape_transpose import (
    concat,
    depth_to_space,
    expand_tile,
    reshape,
    space_to_depth,
    split,
    transpose,
)
from nestmap.pipeline.frontend.onnx.access.route_steps import parameters
from nestmap.pipeline.frontend.onnx.access.slice_pad import center_crop_pad, pad, slice_routes
from nestmap.pipeline.frontend.onnx.node.movement import MADE
from nestmap.pipeline.frontend.onnx.node.reader import NodeReader

RouteRule = Callable[[NodeReader], Iterable[AccessRoute]]
"""Determines the routes of an ONNX node; positions are those of its inputs and outputs."""


def _of_parameters(reader: NodeReader) -> Iterator[AccessRoute]:
    return parameters(reader, *range(len(reader.node.proto.input)))


def _of_nothing(_: NodeReader) -> tuple[AccessRoute, ...]:
    return ()


def _same(reader: NodeReader) -> Iterator[AccessRoute]:
    yield from reshape(reader)
    yield from parameters(reader, *range(1, len(reader.node.proto.input)))


ROUTES: Final[Mapping[str, RouteRule]] = {
    **dict.fromkeys(("Reshape", "Flatten", "Squeeze", "Unsqueeze", "Identity"), reshape),
    **dict.fromkeys(("Dropout", "com.microsoft.BitmaskDropout", "BitCast"), reshape),
    "com.microsoft.ExpandDims": reshape,
    **dict.fromkeys(("Trilu", "com.microsoft.Trilu"), _same),
    "Transpose": transpose,
    "DepthToSpace": depth_to_space,
    "SpaceToDepth": space_to_depth,
    "Concat": concat,
    "Split": split,
    **dict.fromkeys(("Expand", "Tile"), expand_tile),
    "Slice": slice_routes,
    **dict.fromkeys(("Pad", "com.microsoft.Pad"), pad),
    "CenterCropPad": center_crop_pad,
    "Gather": gather,
    "GatherElements": gather_elements,
    **dict.fromkeys(("GatherND", "com.microsoft.GatherND"), gather_nd),
    **dict.fromkeys(("Scatter", "ScatterElements"), scatter_elements),
    "ScatterND": scatter_nd,
    "TensorScatter": tensor_scatter,
    "ReverseSequence": reverse_sequence,
    "Compress": compress,
    "MaxUnpool": max_unpool,
    **dict.fromkeys(MADE, _of_parameters),
    # depend only on sizes, or are random
    **dict.fromkeys(("Shape", "Size", "EyeLike", "ConstantOfShape"), _of_nothing),
    **dict.fromkeys(("RandomNormalLike", "RandomUniformLike"), _of_nothing),
    "OneHot": one_hot,
}
"""The operators with known routes."""


def routes_of(reader: NodeReader) -> tuple[AccessRoute, ...] | None:
    """The routes of a node; ``None`` if the elements of its outputs may come from anywhere.

    Positions refer to ``reader.inputs`` and ``reader.outputs``.
    """
    rule = ROUTES.get(reader.node.operator)
    if rule is None:
        return None
    try:
        return tuple(_placed(reader, rule(reader)))
    except (InputError, ValueError, LookupError):  # inconsistent shapes
        return None


def _placed(reader: NodeReader, routes: Iterable[AccessRoute]) -> Iterator[AccessRoute]:
    """The routes with positions among the tensors that are present, without duplicates.

    Raises:
        ValueError: if a route does not match the sizes of its output and input.
    """
    places = {name: i for i, name in enumerate(reader.node.reads)}
    read = [places.get(name, -1) for name in reader.node.proto.input]
    made = list(accumulate(map(bool, reader.node.proto.output), initial=0))
    inputs, outputs = reader.inputs, reader.outputs
    for route in routes:
        place = made[route.output], read[route.input]
        begin, end = outputs[place[0]].sizes, inputs[place[1]].sizes
        if begin is None or end is None or route.input_sizes(begin) != end:
            raise ValueError(f"route {route} from {begin} to {end}; expected matching sizes")
        if place != (route.output, route.input):
            yield copy_with(route, {"output": place[0], "input": place[1]})
        else:
            yield route
