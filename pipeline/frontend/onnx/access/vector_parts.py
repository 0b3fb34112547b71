"""What the work of a vector unit inside of an array operator reads."""

from __future__ import annotations

from collections.abc import Sequence

from nestmap.model.workload.access import VectorNest
from nestmap.pipeline.frontend.onnx.access.axis_reads import (
    Axes,
    Reads,
    aligned,
    along,
    each,
    nest,
    row_names,
)
from nestmap.pipeline.frontend.onnx.load.shapes import Sizes


def softmax_nest(scores: Sizes, biases: Sequence[Sizes | None]) -> VectorNest:
    """Softmax along the rows of scores to which biases are added.

    Args:
        scores: batch, heads, queries, keys.
        biases: the sizes of the biases; those with as many axes are broadcast, others are masks of
            many meanings.
    """
    names = row_names(len(scores))
    added = [None if bias is None else _row(scores, bias) for bias in biases]
    return nest(scores, Reads(names, {}), (each(names, {len(names) - 1}), *added))


def _row(scores: Sizes, bias: Sizes) -> Axes | None:
    if len(bias) != len(scores) or any(
        own not in (1, size) for own, size in zip(bias[:-1], scores[:-1], strict=True)
    ):
        return None
    names = row_names(len(scores))
    return (*aligned(names[:-1], scores[:-1], bias[:-1]), None)


def sample_nest(samples: Sizes, inputs: int) -> VectorNest:
    """Samples from anywhere in a channel of an image, which offsets (and masks) say.

    Args:
        samples: batch, channels, height and width of the kernel, height and width of the output.
        inputs: how many there are: image, offsets, masks.
    """
    names = ("B", "K", "FY", "FX", "OY", "OX")
    image, offsets = each(names[:4], {2, 3}), (along("B"), None, along("OY"), along("OX"))
    return nest(samples, Reads(names, {}), (image, *(offsets,) * (inputs - 1)))


def sum_nest(axes: Sequence[str], kept: Sequence[str], sizes: Sizes) -> VectorNest:
    """Sums along the axes that are not kept.

    Args:
        axes: what the axes of the input are called.
        kept: what those of the output are called.
        sizes: the sizes of the output.
    """
    loops = dict(zip(kept, row_names(len(kept)), strict=True))
    read = tuple(along(loops[axis]) if axis in loops else None for axis in axes)
    return nest(sizes, Reads((*loops.values(),), {}), (read,))
