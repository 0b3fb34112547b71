"""Describes the reads of vector operators: loops over the output, and an index per input axis."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final, final

from nestmap.model.dims import Dimension, Loop
from nestmap.model.workload.access import AxisIndex, InputAccess, VectorNest
from nestmap.model.workload.affine import AffineIndex, Term
from nestmap.model.workload.loop_nests import batch_names
from nestmap.pipeline.frontend.onnx.load.shapes import Sizes
from nestmap.pipeline.frontend.onnx.node.reader import NodeReader

Names = tuple[Dimension, ...]
"""The loops over an output, one for each axis."""

Axes = tuple[AxisIndex, ...]
"""The index along each axis of an input; ``None``: the whole axis is read."""

_SPATIAL: Final = ("OZ", "OY", "OX")


@final
@dataclass(frozen=True)
class VectorReads:
    """The reads of an operator.

    ``inputs`` maps positions of the ONNX node's inputs to their indices; other inputs are read
    whole. ``windows`` are additional loops. ``phases`` splits an axis of the output into the loop
    with its name and an inner loop of the given size.
    """

    names: Names
    inputs: Mapping[int, Axes]
    windows: Mapping[Dimension, int] = field(default_factory=dict[Dimension, int])
    phases: Mapping[Dimension, int] = field(default_factory=dict[Dimension, int])


ReadRule = Callable[[NodeReader], VectorReads]
"""Determines the reads of an ONNX node whose tensors have known sizes."""


def image_names(rank: int) -> Names:
    """The loops of an image, named as in convolutions: batch, channels, one to three spatial axes.

    Raises:
        ValueError: if there are fewer or more axes.
    """
    if not 3 <= rank <= 2 + len(_SPATIAL):
        raise ValueError(f"{rank} axes; expected an image with one to three spatial axes")
    return ("B", "K", *_SPATIAL[2 - rank :])


def row_names(rank: int) -> Names:
    """The loops of a stack of matrices, named as in matrix products: batch axes, rows, columns."""
    return (*batch_names(max(0, rank - 2)), *("D", "K")[max(0, 2 - rank) :])


def names_of(rank: int) -> Names:
    """The loops of an arbitrary tensor; with four or five axes it counts as an image."""
    return image_names(rank) if rank in (4, 5) else row_names(rank)


def names_with(rank: int, whole: Iterable[int]) -> Names:
    """The loops of a tensor whose ``whole`` axes are read together; if only the last one, rows."""
    return row_names(rank) if set(whole) <= {rank - 1} else names_of(rank)


@lru_cache(maxsize=64)
def loop_index(name: Dimension) -> AffineIndex:
    """The index that equals the loop variable."""
    return AffineIndex(terms=(Term(dimension=name),))


def output_indices(names: Sequence[Dimension], whole: Iterable[int] = ()) -> Axes:
    """The index of the output along each axis, except for axes that are read whole."""
    wide = frozenset(whole)
    return tuple(None if axis in wide else loop_index(name) for axis, name in enumerate(names))


def broadcast_indices(names: Names, output: Sizes, sizes: Sizes) -> Axes:
    """The indices of a broadcast input, aligned at the last axis.

    Raises:
        ValueError: if the sizes cannot be broadcast.
    """
    missing = len(output) - len(sizes)
    pairs = list(zip(sizes, output[missing:], strict=False))
    if missing < 0 or any(own not in (1, size) for own, size in pairs):
        raise ValueError(f"sizes {sizes} for an output of {output}; expected sizes that broadcast")
    return output_indices(
        names[missing:], (i for i, (own, size) in enumerate(pairs) if own != size)
    )


def window(
    axis: Dimension, output: int, size: int, steps: tuple[int, int], over: tuple[int, int]
) -> AffineIndex:
    """The index of a window that slides along an axis.

    Args:
        axis: the loop over the output.
        output: its size.
        size: the length of the input's axis.
        steps: the stride between windows and the dilation within a window.
        over: the elements of a window, and how many of the first one precede the axis.
    """
    (stride, dilation), (elements, before) = steps, over
    last = stride * (output - 1) + dilation * (elements - 1) - before
    return AffineIndex(
        name=f"I{axis[1:]}" if axis in _SPATIAL else None,
        terms=(
            Term(dimension=axis, coefficient=stride),
            Term(dimension=window_loop(axis), coefficient=dilation),
        ),
        size=size,
        padding=(before, max(0, last - size + 1)),
    )


def window_loop(axis: Dimension) -> Dimension:
    """The loop over the elements of the window along an output axis."""
    return f"F{axis[1:]}" if axis in _SPATIAL else f"F{axis}"


def phase_loop(axis: Dimension) -> Dimension:
    """The inner of two loops along an axis of the output."""
    return f"P{axis[1:]}" if axis in _SPATIAL else f"P{axis}"


def vector_nest(output: Sizes, reads: VectorReads, accesses: Sequence[Axes | None]) -> VectorNest:
    """The loop nest of a vector operator.

    Args:
        output: the sizes of the first output.
        reads: the loops.
        accesses: the indices of each tensor in order; ``None`` for tensors that are read whole.

    Raises:
        ValueError: if these do not match.
    """
    phases = reads.phases
    sizes = {x: n // phases.get(x, 1) for x, n in zip(reads.names, output, strict=True)}
    order = [name for name in reads.names if name not in _SPATIAL]
    order += [name for name in reversed(_SPATIAL) if name in sizes]
    loops = [(name, sizes[name]) for name in order] + list(reads.windows.items())
    return VectorNest(
        loops=tuple(Loop(dimension=name, size=size) for name, size in loops),
        output=tuple(_written(name, phases.get(name, 1)) for name in reads.names),
        inputs=tuple(None if axes is None else InputAccess(axes=axes) for axes in accesses),
    )


def _written(name: Dimension, phases: int) -> AffineIndex:
    if phases == 1:
        return loop_index(name)
    steps = Term(dimension=name, coefficient=phases), Term(dimension=phase_loop(name))
    return AffineIndex(terms=steps)


# --- the nests of vector work within layers ---


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
