"""What vector operators read: their loops by the axes of their output, and an index an axis."""

from __future__ import annotations

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
"""The loops of an output, one for each axis."""

Axes = tuple[AxisIndex, ...]
"""Where an input is read along its axes."""

_SPATIAL: Final = ("OZ", "OY", "OX")


@final
@dataclass(frozen=True)
class Reads:
    """What an operator reads.

    ``inputs`` are those of the ONNX node by position; others are read as a whole. ``windows`` are
    further loops. ``phases`` say of an output's axis that an inner loop of that size runs along it,
    too: the loop that the axis is called by takes a step where the inner one is at its end.
    """

    names: Names
    inputs: Mapping[int, Axes]
    windows: Mapping[Dimension, int] = field(default_factory=dict[Dimension, int])
    phases: Mapping[Dimension, int] = field(default_factory=dict[Dimension, int])


ReadRule = Callable[[NodeReader], Reads]
"""From an ONNX node whose tensors are of known sizes to what it reads."""


def image_names(rank: int) -> Names:
    """Batch, channels and up to three spatial axes, as the loops of convolutions are called.

    Raises:
        ValueError: if there are fewer or more.
    """
    if not 3 <= rank <= 2 + len(_SPATIAL):
        raise ValueError(f"{rank} axes; expected an image with one to three spatial axes")
    return ("B", "K", *_SPATIAL[2 - rank :])


def row_names(rank: int) -> Names:
    """Batch axes, rows and columns, as the loops of matrix products are called."""
    return (*batch_names(max(0, rank - 2)), *("D", "K")[max(0, 2 - rank) :])


def names_of(rank: int) -> Names:
    """The loops of a tensor that may be anything: with four or five axes it is an image."""
    return image_names(rank) if rank in (4, 5) else row_names(rank)


def names_with(rank: int, whole: Iterable[int]) -> Names:
    """The loops of a tensor of which some axes belong together; the last one: rows."""
    return row_names(rank) if set(whole) <= {rank - 1} else names_of(rank)


@lru_cache(maxsize=64)
def along(name: Dimension) -> AffineIndex:
    """The index that is a loop by itself."""
    return AffineIndex(terms=(Term(dimension=name),))


def each(names: Sequence[Dimension], whole: Iterable[int] = ()) -> Axes:
    """The same index along all axes as in the output, but for those that are read whole."""
    wide = frozenset(whole)
    return tuple(None if axis in wide else along(name) for axis, name in enumerate(names))


def aligned(names: Names, output: Sizes, sizes: Sizes) -> Axes:
    """The axes of an input that is broadcast: aligned at the last one, of one element or all.

    Raises:
        ValueError: if the sizes do not fit.
    """
    missing = len(output) - len(sizes)
    pairs = list(zip(sizes, output[missing:], strict=False))
    if missing < 0 or any(own not in (1, size) for own, size in pairs):
        raise ValueError(f"sizes {sizes} for an output of {output}; expected some to broadcast")
    return each(names[missing:], (i for i, (own, size) in enumerate(pairs) if own != size))


def window(
    axis: Dimension, output: int, size: int, steps: tuple[int, int], over: tuple[int, int]
) -> AffineIndex:
    """The index of a window that moves along an axis.

    Args:
        axis: the loop over the output.
        output: its size.
        size: the length of the input's axis.
        steps: elements from one window to the next, and between the elements of a window.
        over: elements of a window; how many of the first window lie before the axis.
    """
    (stride, dilation), (elements, before) = steps, over
    last = stride * (output - 1) + dilation * (elements - 1) - before
    return AffineIndex(
        name=f"I{axis[1:]}" if axis in _SPATIAL else None,
        terms=(
            Term(dimension=axis, coefficient=stride),
            Term(dimension=inner(axis), coefficient=dilation),
        ),
        size=size,
        padding=(before, max(0, last - size + 1)),
    )


def inner(axis: Dimension) -> Dimension:
    """The loop over the elements of a window that moves with a loop over the output."""
    return f"F{axis[1:]}" if axis in _SPATIAL else f"F{axis}"


def phase(axis: Dimension) -> Dimension:
    """The inner one of two loops along an axis of the output."""
    return f"P{axis[1:]}" if axis in _SPATIAL else f"P{axis}"


def nest(output: Sizes, reads: Reads, accesses: Sequence[Axes | None]) -> VectorNest:
    """The nest of an operator.

    Args:
        output: the sizes of the first output.
        reads: its loops.
        accesses: how each of its tensors is read, in order; ``None``: as a whole.

    Raises:
        ValueError: if these do not fit.
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
        return along(name)
    steps = Term(dimension=name, coefficient=phases), Term(dimension=phase(name))
    return AffineIndex(terms=steps)
