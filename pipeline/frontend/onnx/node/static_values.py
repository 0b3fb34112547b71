"""What shapes, attributes and stored inputs say of where a node reads, or that they do not say it.

These questions raise an InputError where that is not known before the network runs, too: whoever
asks them can do without an answer.
"""

from __future__ import annotations

from nestmap.pipeline.frontend.onnx.load.shapes import Sizes, whole_sizes
from nestmap.pipeline.frontend.onnx.node.reader import NodeReader

_UNKNOWN = "what is known before the network runs"


def read(reader: NodeReader, position: int = 0) -> Sizes:
    """The sizes of an input.

    Raises:
        InputError: where there is no such input or they are not all known.
    """
    return _known(reader, reader.input(position))


def made(reader: NodeReader, position: int = 0) -> Sizes:
    """The sizes of an output.

    Raises:
        InputError: where there is no such output or they are not all known.
    """
    names = reader.node.proto.output
    return _known(reader, names[position] if position < len(names) else "")


def integers_at(reader: NodeReader, position: int) -> Sizes | None:
    """The integers that an input holds; ``None`` where they are not known beforehand."""
    value = reader.value(position)
    if value is None or value.dtype.kind not in "iu":
        return None
    return tuple(int(number) for number in value.ravel().tolist())


def stated(reader: NodeReader, name: str, position: int) -> Sizes | None:
    """The integers of an attribute or, in newer versions of the operator, of an input.

    ``None`` where there is neither.

    Raises:
        InputError: where it is not known beforehand what the input holds.
    """
    listed = reader.listed(name)
    if listed is not None or not reader.has(position):
        return listed
    found = integers_at(reader, position)
    if found is None:
        raise reader.error(f"input {reader.input(position)!r}", _UNKNOWN)
    return found


def place(reader: NodeReader, axis: int, rank: int) -> int:
    """An axis counted from the first one.

    Raises:
        InputError: where there are not so many axes.
    """
    if not -rank <= axis < rank:
        raise reader.error(f"axis {axis} of {rank} axes", "one of them")
    return axis % rank


def axis_at(reader: NodeReader, default: int, rank: int) -> int:
    """Attribute ``axis``, counted from the first axis.

    Raises:
        InputError: where there are not so many axes.
    """
    return place(reader, reader.integer("axis", default, least=-rank), rank)


def expect(reader: NodeReader, fits: bool) -> None:
    """Go on only where shapes and attributes fit together."""
    if not fits:
        raise reader.error("shapes or attributes that do not fit", "some that do")


def _known(reader: NodeReader, name: str) -> Sizes:
    facts = reader.graph.tensors.get(name)
    sizes = None if facts is None else whole_sizes(facts.shape)
    if sizes is None:
        raise reader.error(f"tensor {name!r}", f"sizes: {_UNKNOWN}")
    return sizes
