"""Determines the loop nest of a vector operator: the inputs that each output element needs."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from nestmap.model import InputError, Tensor
from nestmap.model.workload.access import VectorNest
from nestmap.pipeline.frontend.onnx.load.shapes import Sizes
from nestmap.pipeline.frontend.onnx.node.reader import NodeReader
from nestmap.pipeline.frontend.onnx.node.static_values import output_sizes
from nestmap.pipeline.frontend.onnx.operators import axis_reads as reads
from nestmap.pipeline.frontend.onnx.operators import elementwise_reads as nests_elementwise
from nestmap.pipeline.frontend.onnx.operators import rows as nests_rows
from nestmap.pipeline.frontend.onnx.operators import windows as nests_windows
from nestmap.pipeline.frontend.onnx.operators.axis_reads import Axes, ReadRule, vector_nest

# --- builds the loop nests of vector work within array operators ---


def softmax_nest(scores: Sizes, biases: Sequence[Sizes | None]) -> VectorNest:
    """The nest of a Softmax along the rows of scores with added biases.

    Args:
        scores: the sizes of batch, heads, queries and keys.
        biases: the sizes of the biases; biases with four axes are broadcast, others are masks with
            various meanings and are read whole.
    """
    names = reads.row_names(len(scores))
    added = [None if bias is None else _row(scores, bias) for bias in biases]
    return reads.vector_nest(
        scores,
        reads.VectorReads(names, {}),
        (reads.output_indices(names, {len(names) - 1}), *added),
    )


def _row(scores: Sizes, bias: Sizes) -> reads.Axes | None:
    if len(bias) != len(scores) or any(
        own not in (1, size) for own, size in zip(bias[:-1], scores[:-1], strict=True)
    ):
        return None
    names = reads.row_names(len(scores))
    return (*reads.broadcast_indices(names[:-1], scores[:-1], bias[:-1]), None)


def sample_nest(samples: Sizes, inputs: int) -> VectorNest:
    """The nest of samples from anywhere in an image channel, at positions given by offsets.

    Args:
        samples: the sizes of batch, channels, kernel height and width, output height and width.
        inputs: the number of inputs: image, offsets and possibly masks.
    """
    names = ("B", "K", "FY", "FX", "OY", "OX")
    image, offsets = (
        reads.output_indices(names[:4], {2, 3}),
        (reads.loop_index("B"), None, reads.loop_index("OY"), reads.loop_index("OX")),
    )
    return reads.vector_nest(
        samples, reads.VectorReads(names, {}), (image, *(offsets,) * (inputs - 1))
    )


def sum_nest(axes: Sequence[str], kept: Sequence[str], sizes: Sizes) -> VectorNest:
    """The nest of a sum along the axes that are not kept.

    Args:
        axes: the names of the input's axes.
        kept: the names of the output's axes.
        sizes: the sizes of the output.
    """
    loops = dict(zip(kept, reads.row_names(len(kept)), strict=True))
    read = tuple(reads.loop_index(loops[axis]) if axis in loops else None for axis in axes)
    return reads.vector_nest(sizes, reads.VectorReads((*loops.values(),), {}), (read,))


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
