"""Determines the loop nest of a vector operator: the inputs that each output element needs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from nestmap.model import InputError, Tensor
from nestmap.model.workload.access import VectorNest
from nestmap.pipeline.frontend.onnx.access import elementwise as nests_elementwise
from nestmap.pipeline.frontend.onnx.access import row_reductions as nests_rows
from nestmap.pipeline.frontend.onnx.access import windows as nests_windows
from nestmap.pipeline.frontend.onnx.access.axis_reads import Axes, ReadRule, vector_nest
from nestmap.pipeline.frontend.onnx.node.reader import NodeReader
from nestmap.pipeline.frontend.onnx.node.static_values import output_sizes

NESTS: Final[Mapping[str, ReadRule]] = {
    **nests_elementwise.NESTS,
    **nests_windows.NESTS,
    **nests_rows.NESTS,
}
"""The read rules of all vector operators with known reads."""


def nest_of(reader: NodeReader, tensors: Sequence[Tensor]) -> VectorNest | None:
    """The nest of a node; ``None`` if an output element may need all elements of the inputs.

    If attributes are inconsistent, the model is still parsed, and the reads are unknown.

    Args:
        reader: the ONNX node, with known sizes.
        tensors: the inputs of the nest.
    """
    rule = NESTS.get(reader.node.operator)
    if rule is None:
        return None
    try:
        output, reads = output_sizes(reader), rule(reader)
        return vector_nest(output, reads, tuple(_accesses(reader, reads.inputs, tensors)))
    except (InputError, ValueError, LookupError):  # inconsistent shapes
        return None


def _accesses(
    reader: NodeReader, inputs: Mapping[int, Axes], tensors: Sequence[Tensor]
) -> Iterator[Axes | None]:
    """The indices of each tensor, which may be several inputs of the node at once.

    Raises:
        ValueError: if a rule is for another number of axes.
    """
    ways = dict[str, list[Axes | None]]()
    for position, name in enumerate(reader.node.proto.input):
        ways.setdefault(name, []).append(inputs.get(position))
    for tensor in tensors:
        axes = _joined(ways[tensor.name])
        if axes is not None and len(axes) != len(tensor.sizes or ()):
            raise ValueError(
                f"indices {axes} of a tensor {tensor.sizes}; expected one for each axis"
            )
        yield axes


def _joined(ways: Sequence[Axes | None]) -> Axes | None:
    """The union of several reads: an axis that they index differently is read whole."""
    known = [axes for axes in ways if axes is not None]
    if len(known) < len(ways):
        return None
    return tuple(same[0] if len({*same}) == 1 else None for same in zip(*known, strict=True))
