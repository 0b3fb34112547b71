"""Builds routes from steps and omits steps without effect."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from nestmap.model.workload.access import (
    AccessRoute,
    AccessStep,
    AnyElement,
    AnyIndex,
    Permute,
    Repeat,
    Reshape,
    Shift,
)
from nestmap.pipeline.frontend.onnx.load.shapes import Sizes
from nestmap.pipeline.frontend.onnx.node.reader import NodeReader
from nestmap.pipeline.frontend.onnx.node.static_values import input_sizes

Steps = tuple[AccessStep, ...]


def reshape_step(before: Sizes, after: Sizes) -> Steps:
    """The same elements in row-major order."""
    return () if before == after else (Reshape(sizes=after),)


def permute_step(order: Sequence[int]) -> Steps:
    """The step back from a tensor whose axis ``i`` was axis ``order[i]``."""
    back = tuple(order.index(axis) for axis in range(len(order)))
    return () if back == tuple(range(len(back))) else (Permute(axes=back),)


def shift_step(axis: int, lengths: tuple[int, int], start: int, step: int = 1) -> Steps:
    """A shift along an axis; ``lengths`` are its sizes before and after the step."""
    before, after = lengths
    if before == after and (start, step) == (0, 1):
        return ()
    return (Shift(axis=axis, start=start, step=step, size=after),)


def resize_steps(before: Sizes, after: Sizes, free: Iterable[int] = ()) -> Steps:
    """The same indices along axes of other lengths; any index along the ``free`` axes."""
    anywhere = frozenset(free)
    return tuple(_resized(before, after, anywhere))


def _resized(before: Sizes, after: Sizes, free: frozenset[int]) -> Iterator[AccessStep]:
    for axis, lengths in enumerate(zip(before, after, strict=True)):
        if axis in free:
            yield AnyIndex(axis=axis, size=lengths[1])
        else:
            yield from shift_step(axis, lengths, 0)


def single(sizes: Sizes, axes: Iterable[int]) -> Steps:
    """The single element along some axes, for any index."""
    return tuple(Repeat(axis=axis, size=1) for axis in axes if sizes[axis] != 1)


def drop_axes(sizes: Sizes, axes: Iterable[int]) -> Steps:
    """The steps to a tensor without some of the axes."""
    lost = frozenset(axes)
    ones = tuple(1 if axis in lost else size for axis, size in enumerate(sizes))
    kept = tuple(size for axis, size in enumerate(sizes) if axis not in lost)
    return (*single(sizes, sorted(lost)), *reshape_step(ones, kept))


def route(position: int, *steps: Steps, output: int = 0) -> AccessRoute:
    """A route from an output of the ONNX node to one of its inputs."""
    return AccessRoute(
        output=output, input=position, steps=tuple(x for part in steps for x in part)
    )


def anywhere(reader: NodeReader, position: int, output: int = 0) -> AccessRoute:
    """A route along which any element may depend on any element of the input.

    Raises:
        InputError: if the sizes of the input are unknown.
    """
    return route(position, (AnyElement(sizes=input_sizes(reader, position)),), output=output)


def parameters(reader: NodeReader, *positions: int) -> Iterator[AccessRoute]:
    """Routes to the inputs that control the movement, unless they are constant.

    Raises:
        InputError: if their sizes are unknown.
    """
    for position in positions:
        if reader.has(position) and not reader.tensor(position).constant:
            for output, name in enumerate(reader.node.proto.output):
                if name:
                    yield anywhere(reader, position, output)
