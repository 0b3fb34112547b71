"""Which elements of its inputs a vector operator needs for an element of its output: its nest."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from nestmap.model import InputError, Tensor
from nestmap.model.workload.access import VectorNest
from nestmap.pipeline.frontend.onnx.access import elementwise as nests_elementwise
from nestmap.pipeline.frontend.onnx.access import row_reductions as nests_rows
from nestmap.pipeline.frontend.onnx.access import windows as nests_windows
from nestmap.pipeline.frontend.onnx.access.axis_reads import Axes, ReadRule, nest
from nestmap.pipeline.frontend.onnx.node.reader import NodeReader
from nestmap.pipeline.frontend.onnx.node.static_values import made

NESTS: Final[Mapping[str, ReadRule]] = {
    **nests_elementwise.NESTS,
    **nests_windows.NESTS,
    **nests_rows.NESTS,
}
"""Operators of which it is known what they read."""


def nest_of(reader: NodeReader, tensors: Sequence[Tensor]) -> VectorNest | None:
    """The nest of a node; ``None``: each element of the output may need all elements of the inputs.

    A model that can be parsed stays one where attributes do not fit: then nothing is known.

    Args:
        reader: the ONNX node, all sizes known.
        tensors: the inputs that its nest is for.
    """
    rule = NESTS.get(reader.node.operator)
    if rule is None:
        return None
    try:
        output, reads = made(reader), rule(reader)
        return nest(output, reads, tuple(_accesses(reader, reads.inputs, tensors)))
    except (InputError, ValueError, LookupError):  # shapes that do not go together
        return None


def _accesses(
    reader: NodeReader, inputs: Mapping[int, Axes], tensors: Sequence[Tensor]
) -> Iterator[Axes | None]:
    """How each tensor is read; it may be several inputs of the node at once.

    Raises:
        ValueError: where a rule is for another number of axes.
    """
    ways = dict[str, list[Axes | None]]()
    for position, name in enumerate(reader.node.proto.input):
        ways.setdefault(name, []).append(inputs.get(position))
    for tensor in tensors:
        axes = _joined(ways[tensor.name])
        if axes is not None and len(axes) != len(tensor.sizes or ()):
            raise ValueError(f"indices {axes} of a tensor {tensor.sizes}; expected one an axis")
        yield axes


def _joined(ways: Sequence[Axes | None]) -> Axes | None:
    """One way that covers all of them: an axis that they index differently is read whole."""
    known = [axes for axes in ways if axes is not None]
    if len(known) < len(ways):
        return None
    return tuple(same[0] if len({*same}) == 1 else None for same in zip(*known, strict=True))
