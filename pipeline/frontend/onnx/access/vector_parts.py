"""Builds the loop nests of vector work within array operators."""

from __future__ import annotations

from collections.abc import Sequence

from nestmap.model.workload.access import VectorNest
from nestmap.pipeline.frontend.onnx.access.axis_reads import (
    Axes,
    VectorReads,
    broadcast_indices,
    loop_index,
    output_indices,
    row_names,
    vector_nest,
)
from nestmap.pipeline.frontend.onnx.load.shapes import Sizes


def softmax_nest(scores: Sizes, biases: Sequence[Sizes | None]) -> VectorNest:
    """The nest of a Softmax along the rows of scores with added biases.

    Args:
        scores: the sizes of batch, heads, queries and keys.
        biases: the sizes of the biases; biases with four axes are broadcast, others are masks with
            various meanings and are read whole.
    """
    names = row_names(len(scores))
    added = [None if bias is None else _row(scores, bias) for bias in biases]
    return vector_nest(
        scores, VectorReads(names, {}), (output_indices(names, {len(names) - 1}), *added)
    )


def _row(scores: Sizes, bias: Sizes) -> Axes | None:
    if len(bias) != len(scores) or any(
        own not in (1, size) for own, size in zip(bias[:-1], scores[:-1], strict=True)
    ):
        return None
    names = row_names(len(scores))
    return (*broadcast_indices(names[:-1], scores[:-1], bias[:-1]), None)


def sample_nest(samples: Sizes, inputs: int) -> VectorNest:
    """The nest of samples from anywhere in an image channel, at positions given by offsets.

    Args:
        samples: the sizes of batch, channels, kernel height and width, output height and width.
        inputs: the number of inputs: image, offsets and possibly masks.
    """
    names = ("B", "K", "FY", "FX", "OY", "OX")
    image, offsets = (
        output_indices(names[:4], {2, 3}),
        (loop_index("B"), None, loop_index("OY"), loop_index("OX")),
    )
    return vector_nest(samples, VectorReads(names, {}), (image, *(offsets,) * (inputs - 1)))


def sum_nest(axes: Sequence[str], kept: Sequence[str], sizes: Sizes) -> VectorNest:
    """The nest of a sum along the axes that are not kept.

    Args:
        axes: the names of the input's axes.
        kept: the names of the output's axes.
        sizes: the sizes of the output.
    """
    loops = dict(zip(kept, row_names(len(kept)), strict=True))
    read = tuple(loop_index(loops[axis]) if axis in loops else None for axis in axes)
    return vector_nest(sizes, VectorReads((*loops.values(),), {}), (read,))
