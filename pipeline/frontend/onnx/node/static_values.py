"""Reads the shapes, attributes and constant inputs that determine which elements a node reads.

These functions also raise an InputError if a value is not known before the network runs; their
callers catch it and do without the value.
"""

from nestmap.pipeline.frontend.onnx.load.shapes import Sizes, whole_sizes
from nestmap.pipeline.frontend.onnx.node.reader import NodeReader

_UNKNOWN = "a value known before the network runs"


def input_sizes(reader: NodeReader, position: int = 0) -> Sizes:
    """The sizes of an input.

    Raises:
        InputError: if the node has no such input or one of its sizes is unknown.
    """
    return _known(reader, reader.input(position))


def output_sizes(reader: NodeReader, position: int = 0) -> Sizes:
    """The sizes of an output.

    Raises:
        InputError: if the node has no such output or one of its sizes is unknown.
    """
    names = reader.node.proto.output
    return _known(reader, names[position] if position < len(names) else "")


def integers_at(reader: NodeReader, position: int) -> Sizes | None:
    """The integers of an input; ``None`` if it is not a known constant."""
    value = reader.value(position)
    if value is None or value.dtype.kind not in "iu":
        return None
    return tuple(int(number) for number in value.ravel().tolist())


def attribute_or_input(reader: NodeReader, name: str, position: int) -> Sizes | None:
    """The integers of an attribute or, in newer versions of the operator, of an input.

    ``None`` if the node has neither.

    Raises:
        InputError: if the input is not a known constant.
    """
    listed = reader.integer_list(name)
    if listed is not None or not reader.has(position):
        return listed
    found = integers_at(reader, position)
    if found is None:
        raise reader.error(f"input {reader.input(position)!r}", _UNKNOWN)
    return found


def normalize_axis(reader: NodeReader, axis: int, rank: int) -> int:
    """An axis, counted from the first one.

    Raises:
        InputError: if there is no such axis.
    """
    if not -rank <= axis < rank:
        raise reader.error(f"axis {axis} of {rank} axes", "an existing axis")
    return axis % rank


def axis_at(reader: NodeReader, default: int, rank: int) -> int:
    """The attribute ``axis``, counted from the first axis.

    Raises:
        InputError: if there is no such axis.
    """
    return normalize_axis(reader, reader.integer("axis", default, least=-rank), rank)


def check_fits(reader: NodeReader, fits: bool) -> None:
    """Raises an InputError unless shapes and attributes fit together."""
    if not fits:
        raise reader.error("shapes or attributes that do not fit", "matching ones")


def _known(reader: NodeReader, name: str) -> Sizes:
    facts = reader.graph.tensors.get(name)
    sizes = None if facts is None else whole_sizes(facts.shape)
    if sizes is None:
        raise reader.error(
            f"unknown sizes of tensor {name!r}", "sizes known before the network runs"
        )
    return sizes
