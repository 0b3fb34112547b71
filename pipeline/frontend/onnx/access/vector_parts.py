"""Builds the loop nests of vector work within array operators."""

from __future__ import annotations

from collections.abc import Sequence

from nestmap.model.workload.access import VectorNest
from nestmap.pipeline.frontend.onnx.access import axis_reads as reads
from nestmap.pipeline.frontend.onnx.load.shapes import Sizes


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
