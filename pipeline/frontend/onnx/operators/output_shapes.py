"""Maps operators without shape inference to standard operators with outputs of the same sizes.

The onnx package infers no shapes for operators of other domains and for a few of its own.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple, final

import onnx
from onnx import defs, helper

from nestmap.pipeline.frontend.onnx.load.opsets import BLOCKED, CHANNELS_LAST
from nestmap.pipeline.frontend.onnx.load.shapes import Shape, TypedNode, Types

FLOAT: Final = onnx.TensorProto.FLOAT


@final
@dataclass(frozen=True)
class ShapeSurrogate:
    """A node of the standard domain, and the types of inputs that only it reads."""

    proto: onnx.NodeProto
    types: Types = field(default_factory=dict[str, onnx.TypeProto])


ShapeRule = Callable[[TypedNode], Iterator[ShapeSurrogate]]
"""Standard nodes whose outputs have the sizes of a node's outputs."""


class ElementSource(NamedTuple):
    """Where the element type of an output is from.

    That is an input, such as a zero point; without it the type is ``otherwise`` (0: unknown).
    """

    position: int = 0
    otherwise: int = 0

    def of(self, node: TypedNode) -> int:
        """The element type of the output of a node; 0 if it is not known."""
        return node.element(self.position) or self.otherwise


OF_FIRST_INPUT: Final = ElementSource()


def like(operator: str, *positions: int) -> ShapeRule:
    """The rule of operators with outputs as those of a standard operator of some of the inputs."""

    def rule(node: TypedNode) -> Iterator[ShapeSurrogate]:
        names = [node.proto.input[i] for i in positions if i < len(node.proto.input)]
        while names and not names[-1]:
            names.pop()
        if all(names) and node.proto.output:
            yield ShapeSurrogate(_standard(node.proto, operator, names, node.proto.output[0]))

    return rule


def as_inputs(*positions: int | None) -> ShapeRule:
    """The rule of operators of which each output has the sizes of an input (``None``: unknown)."""

    def rule(node: TypedNode) -> Iterator[ShapeSurrogate]:
        for position, made in zip(positions, node.proto.output, strict=False):
            read = () if position is None else node.proto.input[position : position + 1]
            if made and any(read):
                yield ShapeSurrogate(helper.make_node("Identity", read, [made]))

    return rule


def shaped(shape_of: Callable[[TypedNode], Shape | None]) -> ShapeRule:
    """The rule of operators whose first output has a shape that follows from the inputs' shapes."""

    def rule(node: TypedNode) -> Iterator[ShapeSurrogate]:
        shape = shape_of(node)
        if shape is not None and node.proto.output:
            name = f"shape of {node.proto.output[0]}"
            given = {name: helper.make_tensor_type_proto(node.element(0), shape)}
            yield ShapeSurrogate(helper.make_node("Identity", [name], node.proto.output[:1]), given)

    return rule


def on_image(
    node: TypedNode, operator: str, weights: tuple[int, Shape] | None = None
) -> Iterator[ShapeSurrogate]:
    """An operator on an image, which is transposed where its channels are last.

    ``weights`` are the channels that they fit and their shape. In blocks there may be more channels
    than in the image.
    """
    proto, image, order = node.proto, node.axes(0), list[int]()
    if len(image) < 3:
        return
    is_last = proto.domain == CHANNELS_LAST or proto.op_type.startswith("Nhwc")
    if is_last or node.integer("channels_last", 0):
        image, order = (image[0], image[-1], *image[1:-1]), [0, *range(2, len(image)), 1]
    if weights is not None and proto.domain == BLOCKED:
        image = (image[0], weights[0], *image[2:])
    given = {f"image of {proto.output[0]}": helper.make_tensor_type_proto(FLOAT, image)}
    if weights is not None:
        kernels = helper.make_tensor_type_proto(FLOAT, weights[1])
        given[f"weights of {proto.output[0]}"] = kernels
    made = f"{proto.output[0]} before its transposition" if order else proto.output[0]
    yield ShapeSurrogate(_standard(proto, operator, list(given), made), given)
    if order:
        yield ShapeSurrogate(helper.make_node("Transpose", [made], proto.output[:1], perm=order))


def _standard(
    proto: onnx.NodeProto, operator: str, reads: Sequence[str], made: str
) -> onnx.NodeProto:
    """A standard operator with the attributes of a node that it has, too."""
    known = defs.get_schema(operator).attributes
    node = helper.make_node(operator, reads, [made])
    node.attribute.extend(a for a in proto.attribute if a.name in known)
    return node
